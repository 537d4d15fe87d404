// The map of whole images: training images, all images of the report, the open one.
const bounds = (() => {
  const all = [...(training ? training.positions : []), ...images.flatMap((image) => (image.position ? [image.position] : []))];
  return [0, 1].map((axis) => {
    const low = all.reduce((least, p) => Math.min(least, p[axis]), Infinity);
    return [low, all.reduce((most, p) => Math.max(most, p[axis]), -Infinity) - low || 1];
  });
})();
const place = (p) => [16 + (408 * (p[0] - bounds[0][0])) / bounds[0][1], 284 - (268 * (p[1] - bounds[1][0])) / bounds[1][1]];
const mapPoints = []; // the mark of each image, made once
function makeMap() {
  const nodes = training.positions.map((p, i) => {
    const [cx, cy] = place(p), code = training.labels[i], title = `${names[code]}, MSE ${rounded(training.mse[i])}`;
    return shape("circle", { cx, cy, r: code ? 3 + 2.5 * strength(training.mse[i]) : 7, fill: colours[code], class: "train" }, title);
  });
  images.forEach((image, i) => {
    if (!image.position) return;
    const [x, y] = place(image.position);
    mapPoints[i] = shape("path", { d: `M${x} ${y - 5}l5 5-5 5-5-5z`, class: "other" }, image.file);
    mapPoints[i].addEventListener("click", () => openImage(i, false));
    nodes.push(mapPoints[i]);
  });
  byId("map").replaceChildren(...nodes, shape("path", { id: "map-cross", class: "cross" }), shape("circle", { id: "map-this", r: 9, class: "this" }));
}
function fillMap() {
  if (!mapPoints.length) makeMap();
  const image = images[state.index], [x, y] = place(image.position);
  byId("map").querySelector(".open-here")?.setAttribute("class", "other");
  mapPoints[state.index].setAttribute("class", "open-here");
  byId("map-cross").setAttribute("d", `M${x} 0V300M0 ${y}H440`);
  byId("map-this").setAttribute("cx", x);
  byId("map-this").setAttribute("cy", y);
  byId("map").setAttribute("aria-label", `Map of ${training.labels.length} training images with ${image.file} placed in it. ${image.sentence}`);
}
function ringNearest(near) {
  byId("map").querySelectorAll(".near").forEach((node) => node.remove());
  for (const i of new Set(byId("map-card").hidden ? [] : near)) {
    const [cx, cy] = place(training.positions[i]);
    byId("map").append(shape("circle", { cx, cy, r: 7.5, class: "near" }));
  }
}
