// On paper every image of the table has its picture with outlines, its sentence and its faults, one below the other.
function printedImage(i) {
  const image = images[i], stored = json(`image-${i}`), all = whole();
  const lines = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "outlines", preserveAspectRatio: "none" });
  lines.append(...stored.faults.map((fault, k) => outline(fault, k, border(mask(fault.runs, stored), stored), all, false)));
  const picture = element("img", { src: stored.picture, alt: "", decoding: "sync" });
  const measures = `Confidence ${percent(image.confidence)}, MSE ${rounded(image.mse)}, PSNR ${image.psnr === null ? "∞" : `${fixed(image.psnr, 2)} dB`}, SSIM ${fixed(image.ssim, 4)}`;
  return element("article", {}, element("h2", {}, image.file),
    element("p", { class: image.isCopy && isDoubtful(image.confidence) ? "verdict doubtful" : "verdict" }, image.sentence),
    element("div", { class: "sheet" }, element("div", { class: "stage" }, picture, lines),
      element("div", {}, element("p", {}, measures), ...stored.faults.map((fault, k) => element("div", { class: "printed-fault" }, faultTitle(fault, k), factsOf(fault))))));
}
function fillPaper() {
  byId("paper").replaceChildren(
    element("figure", {}, element("img", { src: context.reference, alt: "", decoding: "sync" }), element("figcaption", {}, "Reference")),
    ...state.order.map(printedImage));
}
async function printAll() {
  fillPaper();
  await Promise.all([...byId("paper").querySelectorAll("img")].map((image) => image.decode()));
  window.print();
}
