// What is stored in the page, the state of the page, and the names and colours of the kinds of fault.
const context = json("context");
const { images, failures } = json("results");
const { names, letters, colours } = context;
const [HEIGHT, WIDTH] = context.size, BLOCK = context.blockSize;
const SEVERITY_MAX = 1000;
const state = {
  index: -1, // the image that is open
  order: images.map((_, i) => i), // the images that the table lists, in its order
  shown: null, // the stored data of the open image, decoded
  block: null, // row and column of the selected block
  alone: null, // the fault that is shown alone
  view: null, // the part of the picture that is visible
  swipe: 0.5, // place of the divider between copy and reference
};

const rgb = (code) => [1, 3, 5].map((i) => parseInt(colours[code].slice(i, i + 2), 16));
const isDoubtful = (confidence) => confidence < context.doubtful;
const sure = (confidence) => (isDoubtful(confidence) ? element("span", { class: "doubt" }, `${percent(confidence)} ?`) : percent(confidence));
const inkOn = (code) => (rgb(code)[0] * 0.299 + rgb(code)[1] * 0.587 + rgb(code)[2] * 0.114 < 100 ? "#fff" : "#000");
const swatch = (code) => element("span", { class: "swatch", style: { background: colours[code], color: inkOn(code) }, "aria-hidden": "true" }, letters[code]);
const kind = (code) => element("span", { class: "kind" }, swatch(code), element("span", {}, names[code]));
const badge = (code, number) => element("span", { class: "badge", style: { background: colours[code], color: inkOn(code) } }, String(number));
const kindsOf = (image) => (image.isCopy ? image.verdict.map((code) => names[code]).join(" + ") : "not a copy");
// Opacity grows with the logarithm of the MSE: 5 is faint, 1000 is full.
const errorShare = (mse) => clamp(Math.log1p(mse / 5) / Math.log1p(SEVERITY_MAX / 5), 0, 1);
const strength = (mse) => Math.max(errorShare(mse), 0.08);
const chosen = (name) => document.querySelector(`input[name=${name}]:checked`).value;
