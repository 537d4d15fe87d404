// Theme, and what is set up when the page opens.
function isDark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
function labelTheme() {
  byId("theme").textContent = isDark() ? "Light" : "Dark";
}
byId("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  labelTheme();
});

const referencePicture = decoded(context.reference);
labelTheme();
byId("about").textContent = context.about;
if (typeof DecompressionStream === "undefined") byId("about").textContent = "This browser is too old to show the images; use one from 2023 or later.";
if (failures.length) {
  byId("failures").hidden = false;
  byId("failures").append(...failures.map((text) => element("li", {}, text)));
}
const on = (id, type, action, options) => byId(id).addEventListener(type, action, options);
document.querySelectorAll("th button").forEach((button) => button.addEventListener("click", () => sortBy(button)));
document.querySelectorAll("input[name=overlay], input[name=picture], #opacity").forEach((input) => input.addEventListener("input", render));
on("search", "input", listImages);
on("table-frame", "scroll", () => requestAnimationFrame(drawRows));
on("rows", "keydown", rowKey);
on("rows", "click", (event) => {
  if (event.detail === 0) byId("file").focus(); // by a key: go on reading at the image
});
new ResizeObserver(drawRows).observe(frame);
on("skip", "click", (event) => {
  event.preventDefault();
  canvas.focus();
});
on("swipe", "input", () => {
  setSwipe(byId("swipe").value / 100);
  render();
});
on("zoom-in", "click", () => zoomBy(1.5));
on("zoom-out", "click", () => zoomBy(1 / 1.5));
on("zoom-fit", "click", () => setView(WIDTH, 0, 0));
on("canvas", "pointermove", point);
on("canvas", "pointerdown", pointerDown);
on("canvas", "pointerup", () => (dragged = null));
on("canvas", "pointercancel", () => (dragged = null));
on("canvas", "dblclick", (event) => zoomBy(2, ...shares(event)));
on("canvas", "wheel", wheel, { passive: false });
on("canvas", "keydown", key);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && state.alone !== null) showAlone(null);
});
on("previous", "click", () => step(-1));
on("next", "click", () => step(1));
on("to-table", "click", () => byId("summary").scrollIntoView({ block: "start" }));
on("print", "click", printAll);
window.addEventListener("beforeprint", fillPaper);
window.addEventListener("afterprint", () => byId("paper").replaceChildren());
byId("main").hidden = false;
byId("main").classList.toggle("empty", images.length === 0);
byId("print").hidden = images.length === 0;
listImages();
if (images.length) {
  const first = clamp((parseInt(location.hash.slice(1), 10) || 1) - 1, 0, images.length - 1);
  openImage(first, false);
  scrollToRow(first);
}
