// The table of images: search, order, the rows that are in sight, and the keys that move through them.
const ROW = 54; // height of a row in pixels, as in report.css
const DRAW_ALL = 60; // a table of so many rows is drawn whole
const frame = byId("table-frame");
const drawnRows = new Map(); // rows that are in the page, by the index of their image
// The folder that all files share says nothing about one of them.
const folder = images.map((image) => image.file.slice(0, image.file.lastIndexOf("/") + 1))
  .reduce((a, b) => (b.startsWith(a) ? a : a.startsWith(b) ? b : ""), images[0]?.file.replace(/[^/]*$/, "") ?? "");
const breakable = (name) => name.split(/(?<=[_+\-/ ])|(?=\.)/).flatMap((part) => [part, document.createElement("wbr")]);
const value = (i, key) => (key === "verdict" ? kindsOf(images[i]) : images[i][key] ?? Infinity);

function verdictCell(image) {
  if (!image.isCopy) return ["not a copy"];
  const [first, second, ...others] = image.verdict.map(kind);
  if (others.length) second.append(element("span", { class: "more" }, `+${others.length}`));
  return second ? [first, second] : [first];
}
function makeRow(i) {
  const image = images[i];
  return element("tr", { "data-index": i, class: isDoubtful(image.confidence) ? "doubtful" : "", onclick: () => openImage(i, true) },
    element("td", { class: "thumb" }, element("img", { src: image.thumb, alt: "" })),
    element("td", {}, element("button", { type: "button", class: "open", title: image.file }, ...breakable(image.file.slice(folder.length)))),
    element("td", { class: "verdict-cell", title: image.sentence }, ...verdictCell(image)),
    element("td", { class: "number" }, sure(image.confidence)),
    element("td", { class: "number minor" }, rounded(image.mse)),
    element("td", { class: "number minor" }, fixed(image.psnr, 1)),
    element("td", { class: "number" }, fixed(image.ssim, 3)));
}
// Which places of the order are in sight, with some rows more on both sides.
function placesInSight() {
  const n = state.order.length;
  if (n <= DRAW_ALL) return [0, n];
  const first = clamp(Math.floor(frame.scrollTop / ROW) - 10, 0, n);
  return [first, Math.min(n, first + Math.ceil(frame.clientHeight / ROW) + 20)];
}
function drawRows() {
  const [first, last] = placesInSight(), wanted = state.order.slice(first, last);
  const keep = new Set(wanted);
  for (const [i, row] of drawnRows) {
    if (keep.has(i)) continue;
    row.remove();
    drawnRows.delete(i);
  }
  const body = byId("rows");
  wanted.forEach((i, place) => {
    if (!drawnRows.has(i)) drawnRows.set(i, makeRow(i));
    const row = drawnRows.get(i);
    row.setAttribute("aria-rowindex", first + place + 2); // the head is row 1
    if (body.children[place] !== row) body.insertBefore(row, body.children[place] ?? null);
  });
  byId("rows-before").hidden = first === 0;
  byId("rows-before").style.height = `${first * ROW}px`;
  byId("rows-after").hidden = last === state.order.length;
  byId("rows-after").style.height = `${(state.order.length - last) * ROW}px`;
  byId("table").setAttribute("aria-rowcount", state.order.length + 1);
  markRows();
}
// The table is one tab stop: the open image, or the first row in sight.
function markRows() {
  const stop = drawnRows.has(state.index) ? state.index : Number(byId("rows").firstElementChild?.dataset.index ?? -1);
  for (const [i, row] of drawnRows) {
    if (i === state.index) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
    row.querySelector(".open").tabIndex = i === stop ? 0 : -1;
  }
}
function scrollToRow(place) {
  const head = byId("table").tHead.offsetHeight, top = place * ROW;
  if (top < frame.scrollTop) frame.scrollTop = top;
  else if (top + ROW + head > frame.scrollTop + frame.clientHeight) frame.scrollTop = top + ROW + head - frame.clientHeight;
  drawRows();
}
function rowKey(event) {
  const page = Math.max(1, Math.floor(frame.clientHeight / ROW) - 2), n = state.order.length;
  const moves = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -n, End: n };
  const here = state.order.indexOf(Number(event.target.closest("tr")?.dataset.index ?? -1));
  if (!(event.key in moves) || here < 0) return;
  event.preventDefault();
  const place = clamp(here + moves[event.key], 0, n - 1), index = state.order[place];
  openImage(index, false);
  scrollToRow(place);
  drawnRows.get(index).querySelector(".open").focus({ preventScroll: true });
}

// ---- order and search ----
const haystacks = []; // what the search looks through, one text for each image
function matches(i, wanted) {
  haystacks[i] ??= [images[i].file, kindsOf(images[i]), images[i].sentence, isDoubtful(images[i].confidence) ? "doubtful" : ""]
    .join(" ").replaceAll("\u00a0", " ").toLowerCase();
  return wanted.every((word) => haystacks[i].includes(word));
}
function listImages() {
  const head = document.querySelector("th[aria-sort$=scending]"), key = head?.querySelector("button").dataset.key;
  const sign = head?.getAttribute("aria-sort") === "descending" ? -1 : 1;
  const wanted = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const text = new Intl.Collator(undefined, { numeric: true }).compare;
  const compare = (a, b) => (typeof a === "string" ? text(a, b) : a < b ? -1 : a > b ? 1 : 0);
  state.order = images.map((_, i) => i).filter((i) => matches(i, wanted));
  if (key) state.order.sort((i, j) => sign * compare(value(i, key), value(j, key)) || i - j);
  byId("count").textContent = wanted.length ? `${state.order.length} of ${images.length}` : `${images.length}`;
  byId("nothing").hidden = state.order.length > 0 || images.length === 0;
  frame.scrollTop = 0;
  drawRows();
  markSteps();
}
function sortBy(button) {
  const head = button.closest("th"), direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
  document.querySelectorAll("th[aria-sort]").forEach((th) => th.setAttribute("aria-sort", "none"));
  head.setAttribute("aria-sort", direction);
  listImages();
}
