// What the report's script needs of the browser: elements, numbers as text, stored arrays, pictures, colours.
const byId = (id) => document.getElementById(id);
const json = (id) => JSON.parse(byId(id).textContent);
// cividis in five stops: readable with every kind of colour vision
const CIVIDIS = [[0, 32, 77], [64, 77, 107], [124, 123, 120], [188, 175, 111], [255, 234, 70]];
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "style") Object.assign(node.style, value);
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}
function shape(tag, { style, ...attributes }, title) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (style) Object.assign(node.style, style);
  if (title) {
    const text = document.createElementNS("http://www.w3.org/2000/svg", "title");
    text.textContent = title;
    node.append(text);
  }
  return node;
}
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
async function unpacked(text) {
  const stream = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}
const fixed = (value, digits) => (value === null ? "∞" : value.toFixed(digits));
const percent = (value) => `${Math.round(100 * value)}\u00a0%`;
const rounded = (mse) => (mse < 10 ? mse.toFixed(1) : Math.round(mse).toString());
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
async function decoded(uri) {
  const image = new Image();
  image.src = uri;
  await image.decode();
  return image;
}
const capital = (text) => text[0].toUpperCase() + text.slice(1);
function cividis(share) {
  const at = clamp(share, 0, 1) * (CIVIDIS.length - 1), low = Math.min(Math.floor(at), CIVIDIS.length - 2);
  return CIVIDIS[low].map((value, c) => value + (at - low) * (CIVIDIS[low + 1][c] - value));
}
function blank(width, height) {
  const layer = document.createElement("canvas");
  layer.width = width;
  layer.height = height;
  return layer;
}
function pixels(image) {
  const layer = blank(image.naturalWidth, image.naturalHeight), ink = layer.getContext("2d", { willReadFrequently: true });
  ink.drawImage(image, 0, 0);
  return ink.getImageData(0, 0, layer.width, layer.height);
}
