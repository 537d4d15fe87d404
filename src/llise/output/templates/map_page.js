"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const canvas = byId("map"), brush = canvas.getContext("2d"), sheet = new Image();
const thumbnails = data.thumbnails, count = data.places.length;
const spot = new Int32Array(count).fill(-1); // position of an image in the sheet
if (thumbnails) thumbnails.images.forEach((image, position) => { spot[image] = position; });
const hidden = new Set(); // classes that are switched off
const view = { scale: 1, x: 0, y: 0 };
let width = 0, height = 0, found = null, hovered = -1, side = thumbnails ? 40 : 0, waiting = false;

// Places as they are, or evened out: the rank of each along each axis, so that dense parts open up.
const everywhere = [...data.places, ...(data.background || [])];
function ranks() {
  const result = everywhere.map(() => [0, 0]);
  for (const axis of [0, 1]) {
    const order = everywhere.map((place, i) => [place[axis], i]).sort((a, b) => a[0] - b[0]);
    let first = 0; // equal values have one rank
    order.forEach(([value, i], rank) => {
      if (value !== order[first][0]) first = rank;
      result[i][axis] = first;
    });
  }
  return result;
}
let evenedOut = null, places, background, bounds;
function arrange() {
  const all = data.ranks ? (evenedOut ||= ranks()) : everywhere;
  places = all.slice(0, count);
  background = all.slice(count);
  bounds = [0, 1].map((axis) => {
    let low = Infinity, high = -Infinity;
    for (const place of all) {
      low = Math.min(low, place[axis]);
      high = Math.max(high, place[axis]);
    }
    return [low, high - low || 1];
  });
}
arrange();
const margin = 46;
const onScreen = (place) => [
  view.x + view.scale * (margin + ((width - 2 * margin) * (place[0] - bounds[0][0])) / bounds[0][1]),
  view.y + view.scale * (height - margin - ((height - 2 * margin) * (place[1] - bounds[1][0])) / bounds[1][1]),
];
const colour = (i) => (data.codes ? data.colours[data.codes[i]] : "#0072b2");
const isShown = (i) => !(data.codes && hidden.has(data.codes[i]));

function source(i) { // where an image is in the sheet
  const row = Math.floor(spot[i] / thumbnails.columns), column = spot[i] % thumbnails.columns;
  return [column * thumbnails.width, row * thumbnails.height, thumbnails.width, thumbnails.height];
}

function draw() {
  waiting = false;
  const ratio = window.devicePixelRatio || 1;
  width = canvas.clientWidth;
  height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const style = getComputedStyle(document.documentElement);
  brush.setTransform(ratio, 0, 0, ratio, 0, 0);
  brush.clearRect(0, 0, width, height);
  const radius = Math.max(1.6, Math.min(5, (26 / Math.sqrt(count)) * Math.sqrt(view.scale) + 1.6));
  brush.fillStyle = style.getPropertyValue("--quiet");
  brush.globalAlpha = 0.25;
  for (const place of background) dot(onScreen(place), radius);
  const here = places.map(onScreen), inside = [];
  for (let i = 0; i < count; i++) {
    const [x, y] = here[i];
    if (isShown(i) && x > -60 && y > -60 && x < width + 60 && y < height + 60) inside.push(i);
  }
  for (const i of inside) {
    brush.globalAlpha = found && !found.has(i) ? 0.12 : 0.9;
    brush.fillStyle = colour(i);
    dot(here[i], radius);
  }
  brush.globalAlpha = 1;
  if (thumbnails && side >= 8 && sheet.complete) drawThumbnails(found ? inside.filter((i) => found.has(i)) : inside, here);
  if (found) for (const i of inside) if (found.has(i)) ring(here[i], radius + 3, style.getPropertyValue("--ink"));
  if (hovered >= 0 && isShown(hovered)) ring(here[hovered], radius + 4, style.getPropertyValue("--ink"));
  byId("count").textContent = `${inside.length} of ${count} images in view` + (found ? `, ${found.size} found` : "");
}
function dot([x, y], radius) { brush.beginPath(); brush.arc(x, y, radius, 0, 7); brush.fill(); }
function ring([x, y], radius, ink) { brush.strokeStyle = ink; brush.lineWidth = 2; brush.beginPath(); brush.arc(x, y, radius, 0, 7); brush.stroke(); }

// Thumbnails that do not overlap: each takes cells of a grid as wide as itself, the first image comes first.
function drawThumbnails(images, here) {
  const factor = side / Math.max(thumbnails.width, thumbnails.height);
  const w = thumbnails.width * factor, h = thumbnails.height * factor, taken = new Map();
  brush.imageSmoothingEnabled = factor < 1;
  for (const i of images) {
    if (spot[i] < 0) continue;
    const [x, y] = here[i], column = Math.floor(x / (w + 5)), row = Math.floor(y / (h + 5));
    let free = true;
    for (let r = row - 1; free && r <= row + 1; r++) {
      for (let c = column - 1; free && c <= column + 1; c++) {
        const other = taken.get(`${r} ${c}`);
        if (other && Math.abs(other[0] - x) < w + 5 && Math.abs(other[1] - y) < h + 5) free = false;
      }
    }
    if (!free) continue;
    taken.set(`${row} ${column}`, [x, y]);
    brush.fillStyle = colour(i);
    brush.fillRect(x - w / 2 - 2, y - h / 2 - 2, w + 4, h + 4);
    brush.drawImage(sheet, ...source(i), x - w / 2, y - h / 2, w, h);
  }
}

function later() { if (!waiting) { waiting = true; requestAnimationFrame(draw); } }
function zoom(factor, x = width / 2, y = height / 2) {
  const scale = Math.min(400, Math.max(0.5, view.scale * factor)), change = scale / view.scale;
  view.x = x - change * (x - view.x);
  view.y = y - change * (y - view.y);
  view.scale = scale;
  later();
}
function move(x, y) { view.x += x; view.y += y; later(); }
function showAll() { Object.assign(view, { scale: 1, x: 0, y: 0 }); later(); }

function nearest(x, y) {
  let best = -1, least = (side / 2 + 8) ** 2;
  for (let i = 0; i < count; i++) {
    if (!isShown(i)) continue;
    const [px, py] = onScreen(places[i]), squared = (px - x) ** 2 + (py - y) ** 2;
    if (squared < least) { least = squared; best = i; }
  }
  return best;
}
function tell(i, x, y) {
  const tip = byId("tip");
  hovered = i;
  tip.hidden = i < 0;
  if (i >= 0) {
    byId("name").textContent = data.names[i];
    byId("class").textContent = data.codes ? data.classes[data.codes[i]] : "";
    const large = byId("large");
    large.hidden = !thumbnails || spot[i] < 0;
    if (!large.hidden) {
      const factor = Math.max(1, Math.floor(144 / Math.max(thumbnails.width, thumbnails.height)));
      large.width = thumbnails.width * factor;
      large.height = thumbnails.height * factor;
      const pen = large.getContext("2d");
      pen.imageSmoothingEnabled = false;
      pen.drawImage(sheet, ...source(i), 0, 0, large.width, large.height);
    }
    tip.style.left = `${Math.max(0, Math.min(x + 14, width - tip.offsetWidth - 6))}px`;
    tip.style.top = `${Math.max(0, Math.min(y + 14, height - tip.offsetHeight - 6))}px`;
  }
  later();
}

const pointers = new Map();
canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
  canvas.classList.add("moving");
});
canvas.addEventListener("pointermove", (event) => {
  const before = pointers.get(event.pointerId), now = [event.offsetX, event.offsetY];
  if (!before) return tell(nearest(...now), ...now);
  if (pointers.size === 2) {
    const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
    zoom(Math.hypot(now[0] - other[0], now[1] - other[1]) / (Math.hypot(before[0] - other[0], before[1] - other[1]) || 1), ...other);
  } else move(now[0] - before[0], now[1] - before[1]);
  pointers.set(event.pointerId, now);
});
for (const end of ["pointerup", "pointercancel"]) {
  canvas.addEventListener(end, (event) => { pointers.delete(event.pointerId); canvas.classList.remove("moving"); });
}
canvas.addEventListener("pointerleave", () => tell(-1));
canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY); }, { passive: false });
canvas.addEventListener("keydown", (event) => {
  const keys = { "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: showAll, ArrowLeft: () => move(50, 0), ArrowRight: () => move(-50, 0), ArrowUp: () => move(0, 50), ArrowDown: () => move(0, -50) };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});
byId("in").addEventListener("click", () => zoom(1.5));
byId("out").addEventListener("click", () => zoom(1 / 1.5));
byId("all").addEventListener("click", showAll);
byId("side").addEventListener("input", (event) => { side = Number(event.target.value); later(); });
byId("ranks").addEventListener("change", (event) => { data.ranks = event.target.checked; arrange(); later(); });
byId("search").addEventListener("input", (event) => {
  const text = event.target.value.trim().toLowerCase();
  found = text ? new Set(data.names.flatMap((name, i) => (name.toLowerCase().includes(text) ? [i] : []))) : null;
  later();
});
function makeLegend() {
  const total = new Array(data.classes.length).fill(0);
  for (const code of data.codes || []) total[code] += 1;
  data.classes.forEach((name, code) => {
    const button = document.createElement("button"), label = document.createElement("span"), number = document.createElement("small");
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    button.title = "Show or hide; double-click: this one alone";
    const drawn = document.createElementNS("http://www.w3.org/2000/svg", "svg"), mark = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    for (const [key, value] of Object.entries({ width: 12, height: 12 })) drawn.setAttribute(key, value);
    for (const [key, value] of Object.entries({ cx: 6, cy: 6, r: 6, fill: data.colours[code] })) mark.setAttribute(key, value);
    drawn.append(mark);
    label.textContent = name;
    number.textContent = total[code];
    button.append(drawn, label, number);
    button.addEventListener("click", () => { if (!hidden.delete(code)) hidden.add(code); press(); });
    button.addEventListener("dblclick", () => { hidden.clear(); data.classes.forEach((_, other) => { if (other !== code) hidden.add(other); }); press(); });
    byId("legend").append(button);
  });
}
function press() {
  [...byId("legend").children].forEach((button, code) => button.setAttribute("aria-pressed", String(!hidden.has(code))));
  later();
}
if (!thumbnails) byId("side").parentElement.hidden = true;
byId("side").value = side;
byId("ranks").checked = data.ranks;
canvas.setAttribute("aria-label", `Map of ${count} images${data.classes.length ? ` of ${data.classes.length} classes` : ""}`);
makeLegend();
sheet.onload = later;
if (thumbnails) sheet.src = thumbnails.uri;
new ResizeObserver(later).observe(canvas);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
