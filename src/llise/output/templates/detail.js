// One image: its heading, faults, measures, patches at full resolution, reasons, and the selected block.
async function openImage(index, toDetail) {
  if (index === state.index) {
    if (toDetail) showDetail();
    return;
  }
  state.index = index;
  history.replaceState(null, "", `#${index + 1}`);
  markRows();
  markSteps();
  const stored = json(`image-${index}`);
  const patches = stored.patches.map(async ({ box: [x, y, w, h], fault, copy, reference }) => (
    { box: { x, y, w, h }, fault, picture: await decoded(copy), reference: await decoded(reference) }));
  const [picture, difference, ssim, color, reference, labels, severity] = await Promise.all([
    decoded(stored.picture), decoded(stored.difference), decoded(stored.ssim),
    stored.color ? decoded(stored.color) : null, referencePicture,
    unpacked(stored.labels), unpacked(stored.severity)]);
  const full = await Promise.all(patches);
  if (state.index !== index) return; // another image was opened meanwhile
  const masks = stored.faults.map((fault) => mask(fault.runs, stored)), ssimValues = pixels(ssim);
  state.shown = {
    ...stored, picture, difference, reference, masks, patches: full, ssimValues, ssimLayer: coveringLayer(ssimValues, (value) => 1 - value),
    colorLayer: color ? coveringLayer(pixels(color), (value) => value) : null,
    borders: masks.map((inside) => border(inside, stored)), labels: new Uint8Array(labels),
    severity: Float64Array.from(new Uint16Array(severity), (root) => (root / 256) ** 2), // little-endian, as every browser's host
  };
  state.alone = null;
  state.block = worstBlock();
  state.view = whole();
  byId("detail").hidden = false;
  byId("color-field").hidden = !color;
  if (!color && chosen("overlay") === "color") document.querySelector('[name="overlay"][value="kinds"]').checked = true;
  fillDetail(images[index]);
  render();
  document.body.dataset.shown = index;
  if (toDetail) showDetail();
}
// Bring the image into sight where the table hides it.
function showDetail() {
  const { top } = byId("detail").getBoundingClientRect();
  if (top < 0 || top > innerHeight / 3) byId("detail").scrollIntoView({ block: "start" });
}
function worstBlock() {
  const { severity, cols } = state.shown;
  const at = severity.indexOf(severity.reduce((a, b) => Math.max(a, b), 0));
  return [Math.floor(at / cols), at % cols];
}
function markSteps() {
  const at = state.order.indexOf(state.index);
  byId("previous").disabled = at <= 0;
  byId("next").disabled = at >= state.order.length - 1;
}
function step(by) {
  const place = state.order.indexOf(state.index) + by;
  if (state.order[place] === undefined) return;
  openImage(state.order[place], false);
  scrollToRow(place);
}
function fillDetail(image) {
  byId("file").textContent = image.file;
  byId("verdict").textContent = image.sentence;
  const doubt = image.isCopy && isDoubtful(image.confidence);
  byId("verdict").classList.toggle("doubtful", doubt);
  byId("confidence").replaceChildren(...(image.isCopy ? ["Confidence ", sure(image.confidence), doubt ? ": check this one yourself" : ""] : []));
  fillFaults();
  const measure = (name, text) => [element("div", {}, element("dt", {}, name), element("dd", {}, text))];
  byId("measures").replaceChildren(
    ...measure("Confidence", sure(image.confidence)), ...measure("MSE", rounded(image.mse)),
    ...measure("PSNR", image.psnr === null ? "∞" : `${fixed(image.psnr, 2)} dB`), ...measure("SSIM", fixed(image.ssim, 4)),
    ...(state.shown.color ? measure("Colour difference", `${fixed(state.shown.colorMean, 2)} (95 %: ${fixed(state.shown.colorP95, 2)})`) : []));
  fillPatches();
  fillWhy();
}
// What was tried in each region: what the network said, what the fit explained, how probable it is.
function fillWhy() {
  const { why } = state.shown;
  byId("why-card").hidden = why.length === 0;
  byId("why").replaceChildren(...why.map(({ blocks, box: [x, y, w, h], tried }) => element("li", {},
    element("div", { class: "quiet small" }, `${blocks} blocks within ${w} × ${h} pixels at ${x}, ${y}`),
    element("table", { class: "why" },
      element("thead", {}, element("tr", {}, ...["Tried", "Probability", "Explained", "Network"].map((text) => element("th", { scope: "col" }, text)))),
      element("tbody", {}, ...tried.map((one) => element("tr", {},
        element("th", { scope: "row" }, one.kinds.join(" + ")), element("td", {}, percent(one.probability)),
        element("td", {}, one.explained === null ? "–" : percent(one.explained)), element("td", {}, one.network.toFixed(2)))))))));
}

// ---- faults ----
function fillFaults() {
  const { faults } = state.shown;
  byId("faults-hint").hidden = faults.length === 0;
  byId("faults").replaceChildren(...(faults.length ? faults.map(faultItem) : [element("li", { class: "quiet" }, "None.")]));
}
function factsOf(fault) {
  const facts = [], fact = (name, ...content) => facts.push(element("span", {}, name), element("span", {}, ...content));
  fact("Confidence", sure(fault.confidence));
  for (const [of, name, value, bounds] of fault.settings) {
    fact(fault.kinds.length > 1 ? `${names[of]}, ${name}` : capital(name), value, bounds ? element("small", {}, ` (${bounds})`) : "");
  }
  for (const [of, mse] of fault.severity) {
    fact(fault.severity.length > 1 ? `${names[of]}, MSE` : "Severity, MSE", rounded(mse), fault.severity.length > 1 ? "" : element("small", {}, ` (${fault.strength})`));
  }
  fact("Place", fault.place === "whole picture" ? fault.place : `${fault.place}, ${fault.area} of the area`);
  if (fault.explained !== null) fact("Explained", `${percent(fault.explained)} of the error`);
  return element("span", { class: "facts" }, ...facts);
}
const faultTitle = (fault, i) => element("span", { class: "fault-title" }, badge(fault.kinds[0], i + 1), element("span", {}, `${fault.phrase}.`));
function faultItem(fault, i) {
  return element("li", {}, element("button", {
    type: "button", class: isDoubtful(fault.confidence) ? "fault doubtful" : "fault", "aria-pressed": "false", "data-fault": i,
    style: { borderLeftColor: colours[fault.kinds[0]] }, onclick: () => showAlone(state.alone === i ? null : i),
  }, faultTitle(fault, i), factsOf(fault)));
}
function showAlone(i) {
  state.alone = i;
  byId("faults").querySelectorAll("button").forEach((b) => b.setAttribute("aria-pressed", String(Number(b.dataset.fault) === i && i !== null)));
  if (i !== null) byId("stage").scrollIntoView({ block: "nearest" });
  render();
}

// ---- patches at full resolution ----
function fillPatches() {
  const { patches, faults } = state.shown;
  byId("patches-card").hidden = patches.length === 0;
  byId("patches").replaceChildren(...patches.map((patch, number) => {
    const { box, fault } = patch;
    const pictures = [["reference", patch.reference], ["copy", patch.picture]].map(([name, picture]) => {
      const drawn = element("canvas", { width: box.w, height: box.h, role: "img", "aria-label": `${name}, full resolution` });
      drawn.getContext("2d").drawImage(picture, 0, 0);
      return element("figure", {}, drawn, element("figcaption", {}, name));
    });
    return element("li", {}, element("div", { class: "pair" }, ...pictures),
      element("button", { type: "button", class: "button", "data-patch": number, onclick: () => showPatch(box) },
        badge(faults[fault].kinds[0], fault + 1), ` Zoom to pixels ${box.x}–${box.x + box.w - 1} across, ${box.y}–${box.y + box.h - 1} down`));
  }));
}
function showPatch(box) {
  zoomTo(box);
  byId("stage").scrollIntoView({ block: "nearest" });
}

// ---- the selected block ----
function fillBlock() {
  const { shown } = state, [row, col] = state.block, at = row * shown.cols + col, x = col * BLOCK, y = row * BLOCK;
  const data = shown.ssimValues, sx = data.width / WIDTH, sy = data.height / HEIGHT;
  const centre = [Math.min(x + BLOCK / 2, WIDTH - 1), Math.min(y + BLOCK / 2, HEIGHT - 1)];
  const ssim = data.data[4 * (Math.floor(centre[1] * sy) * data.width + Math.floor(centre[0] * sx))] / 255;
  const here = shown.masks.flatMap((inside, i) => (inside[at] ? [i + 1] : []));
  byId("block").replaceChildren(
    element("strong", {}, kind(shown.labels[at])),
    `MSE ${rounded(shown.severity[at])} in this block, local SSIM ${ssim.toFixed(2)}`, here.length ? `, fault ${here.join(" and ")}` : "",
    element("div", { class: "quiet small" }, `row ${row + 1}, column ${col + 1}; pixels ${x}–${Math.min(x + BLOCK, WIDTH) - 1} across, ${y}–${Math.min(y + BLOCK, HEIGHT) - 1} down`));
  for (const [id, which] of [["patch-copy", "picture"], ["patch-reference", "reference"]]) fillClose(byId(id), which, x - BLOCK, y - BLOCK);
}
// The block and its neighbours, enlarged; from a patch of full resolution where there is one.
function fillClose(close, which, x, y) {
  const side = 3 * BLOCK, ink = close.getContext("2d"), unit = close.width / 3;
  const inside = state.shown.patches.find(({ box }) => x >= box.x && y >= box.y && x + side <= box.x + box.w && y + side <= box.y + box.h);
  const source = inside ? inside[which] : state.shown[which], k = inside ? 1 : source.naturalWidth / WIDTH;
  ink.imageSmoothingEnabled = false;
  ink.fillStyle = "#808080";
  ink.fillRect(0, 0, close.width, close.height);
  ink.drawImage(source, (x - (inside?.box.x ?? 0)) * k, (y - (inside?.box.y ?? 0)) * k, side * k, side * k, 0, 0, close.width, close.height);
  ink.strokeStyle = "#000";
  ink.strokeRect(unit - 1.5, unit - 1.5, unit + 3, unit + 3);
  ink.strokeStyle = "#fff";
  ink.strokeRect(unit - 0.5, unit - 0.5, unit + 1, unit + 1);
}
