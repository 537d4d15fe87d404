// The picture: copy, reference, difference or both halves, overlays on it, zoom, and the block under the pointer.
const canvas = byId("canvas"), pen = canvas.getContext("2d");
const CLOSEST = 32; // the view is never narrower than so many pixels

// ---- layers ----
// What is good stays clear: an overlay of SSIM or of the colour difference covers only where the copy differs.
function coveringLayer(data, badness) {
  const layer = blank(data.width, data.height), covered = new ImageData(data.width, data.height);
  for (let i = 0; i < data.data.length; i += 4) {
    const bad = badness(data.data[i] / 255);
    covered.data.set([...cividis(bad), 255 * Math.min(1, 2 * bad)], i);
  }
  layer.getContext("2d").putImageData(covered, 0, 0);
  return layer;
}
function blockLayer(colour) {
  const { rows, cols } = state.shown, layer = blank(cols, rows), data = new ImageData(cols, rows);
  for (let i = 0; i < rows * cols; i++) data.data.set(colour(i), 4 * i);
  layer.getContext("2d").putImageData(data, 0, 0);
  return layer;
}
const layers = {
  kinds: () => blockLayer((i) => (state.shown.labels[i] && (state.alone === null || state.shown.masks[state.alone][i])
    ? [...rgb(state.shown.labels[i]), 255 * strength(state.shown.severity[i])] : [0, 0, 0, 0])),
  error: () => blockLayer((i) => [...cividis(errorShare(state.shown.severity[i])), 255 * Math.min(1, 2 * errorShare(state.shown.severity[i]))]),
  ssim: () => state.shown.ssimLayer,
  color: () => state.shown.colorLayer,
};
// Draw what the view shows of a picture that covers the given part of the whole one.
function drawPart(source, box = { x: 0, y: 0, w: WIDTH, h: HEIGHT }) {
  const { view } = state, scale = canvas.width / view.w;
  pen.drawImage(source, (box.x - view.x) * scale, (box.y - view.y) * scale, box.w * scale, box.h * scale);
}
// Pictures that are stored smaller than they are have patches of full resolution where the faults are.
function drawPicture(which) {
  drawPart(state.shown[which]);
  if (which === "difference") return;
  for (const patch of state.shown.patches) drawPart(patch[which], patch.box);
}
function drawSwipe() {
  drawPicture("reference");
  pen.save();
  pen.beginPath();
  pen.rect(0, 0, state.swipe * canvas.width, canvas.height);
  pen.clip();
  drawPicture("picture");
  pen.restore();
}
function drawFrame(x, y, side, line) {
  for (const [width, colour] of [[2 * line, "#000"], [line, "#fff"]]) {
    pen.lineWidth = width;
    pen.strokeStyle = colour;
    pen.strokeRect(x, y, side, side);
  }
}
function render() {
  const { shown, view } = state, enlarged = Math.max(1, Math.ceil(512 / Math.max(WIDTH, HEIGHT)));
  canvas.width = shown.picture.naturalWidth * enlarged;
  canvas.height = shown.picture.naturalHeight * enlarged;
  pen.imageSmoothingEnabled = false;
  const picture = chosen("picture"), overlay = chosen("overlay"), scale = canvas.width / view.w;
  if (picture === "swipe") drawSwipe();
  else drawPicture({ copy: "picture" }[picture] ?? picture);
  pen.globalAlpha = byId("opacity").value / 100;
  // Blocks at the right and lower edge may reach beyond the picture: the canvas crops them.
  if (overlay === "ssim" || overlay === "color") drawPart(layers[overlay]());
  else if (overlay !== "off") drawPart(layers[overlay](), { x: 0, y: 0, w: shown.cols * BLOCK, h: shown.rows * BLOCK });
  pen.globalAlpha = 1;
  const [row, col] = state.block;
  drawFrame((col * BLOCK - view.x) * scale, (row * BLOCK - view.y) * scale, BLOCK * scale, Math.max(2, canvas.width / 300));
  showSwipe(picture === "swipe");
  drawOutlines(overlay);
  fillScale(overlay, picture);
  fillBlock();
  showZoom();
}
function showSwipe(on) {
  for (const id of ["divider", "swipe-field", "label-copy", "label-reference"]) byId(id).hidden = !on;
  byId("divider").style.left = `${100 * state.swipe}%`;
}
function fillScale(overlay, picture) {
  const ramp = (stops) => element("i", { style: { background: `linear-gradient(90deg, ${stops.join(",")})` } });
  const covering = CIVIDIS.map((c, i) => `rgba(${c},${Math.min(1, i / 2)})`);
  const content = {
    kinds: () => ["Colour: kind. Opacity: MSE 0", ramp([0, 20, 100, 300, 1000].map((mse) => `rgba(127,127,127,${strength(mse)})`)), "1000"],
    error: () => ["MSE of the block 0", ramp(covering), "1000 and more"],
    ssim: () => ["SSIM 1, same", ramp(covering), "0, different"],
    color: () => ["Colour difference (CIEDE2000) 0", ramp(covering), `${state.shown.colorRange} and more`],
    off: () => [],
  };
  const range = state.shown.differenceRange;
  const difference = picture === "difference" ? [element("span", {}, `Difference: darker by ${range}`), ramp(["#000", "#808080", "#fff"]), `lighter by ${range}`] : [];
  byId("scale").replaceChildren(...difference, ...content[overlay]());
}

// ---- zoom ----
const whole = () => ({ x: 0, y: 0, w: WIDTH, h: HEIGHT });
function setView(width, x, y) {
  const w = clamp(width, Math.min(CLOSEST, WIDTH), WIDTH), h = (w * HEIGHT) / WIDTH;
  state.view = { x: clamp(x, 0, WIDTH - w), y: clamp(y, 0, HEIGHT - h), w, h };
  render();
}
// Zoom so that the point of the picture under (x, y), in shares of the view, stays where it is.
function zoomBy(factor, x = 0.5, y = 0.5) {
  const { view } = state, w = clamp(view.w / factor, Math.min(CLOSEST, WIDTH), WIDTH), k = w / view.w;
  setView(w, view.x + x * view.w * (1 - k), view.y + y * view.h * (1 - k));
}
function zoomTo(box) {
  const w = Math.max(1.2 * box.w, (1.2 * box.h * WIDTH) / HEIGHT);
  setView(w, box.x + box.w / 2 - w / 2, box.y + box.h / 2 - (w * HEIGHT) / WIDTH / 2);
}
function showZoom() {
  const zoom = WIDTH / state.view.w;
  byId("zoom").textContent = zoom < 1.05 ? "whole" : `${zoom < 10 ? zoom.toFixed(1) : Math.round(zoom)}×`;
  byId("zoom-out").disabled = byId("zoom-fit").disabled = zoom <= 1;
  byId("zoom-in").disabled = state.view.w <= CLOSEST;
  byId("stage").classList.toggle("zoomed", zoom > 1);
}

// ---- pointer and keys ----
function select(row, col) {
  const { rows, cols } = state.shown, next = [clamp(row, 0, rows - 1), clamp(col, 0, cols - 1)];
  const moved = next[0] !== state.block[0] || next[1] !== state.block[1];
  state.block = next;
  return moved;
}
function shares(event) {
  const area = canvas.getBoundingClientRect();
  return [(event.clientX - area.left) / area.width, (event.clientY - area.top) / area.height];
}
let dragged = null; // view and place where a drag of the zoomed picture began
function pointerDown(event) {
  if (event.button === 0 && state.view.w < WIDTH && chosen("picture") !== "swipe") {
    dragged = { view: state.view, at: shares(event) };
    canvas.setPointerCapture(event.pointerId);
  }
  point(event);
}
function point(event) {
  const [x, y] = shares(event), { view } = state;
  if (dragged && event.type === "pointermove") {
    setView(view.w, dragged.view.x - (x - dragged.at[0]) * view.w, dragged.view.y - (y - dragged.at[1]) * view.h);
    return;
  }
  const swiped = chosen("picture") === "swipe";
  if (swiped) setSwipe(x);
  const moved = select(Math.floor((view.y + y * view.h) / BLOCK), Math.floor((view.x + x * view.w) / BLOCK));
  if (moved || swiped) render();
}
function setSwipe(share) {
  state.swipe = clamp(share, 0, 1);
  byId("swipe").value = 100 * state.swipe;
}
function key(event) {
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const zooms = { "+": 1.5, "=": 1.5, "-": 1 / 1.5, 0: 1 / 1e6 };
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in moves || event.key in zooms)) return;
  event.preventDefault();
  if (event.key in zooms) {
    zoomBy(zooms[event.key]);
    return;
  }
  const move = moves[event.key], far = event.shiftKey ? 8 : 1;
  if (select(state.block[0] + far * move[0], state.block[1] + far * move[1])) keepInView();
}
// The selected block stays in sight when keys move it.
function keepInView() {
  const { view } = state, [y, x] = state.block.map((place) => place * BLOCK);
  const into = (at, start, length) => (at < start ? at : Math.max(start, at + BLOCK - length));
  setView(view.w, into(x, view.x, view.w), into(y, view.y, view.h));
}
function wheel(event) {
  if (!event.ctrlKey) return; // an ordinary wheel scrolls the page; trackpads send ctrl with a pinch
  event.preventDefault();
  zoomBy(event.deltaY < 0 ? 1.25 : 0.8, ...shares(event));
}
