"use strict";
// Files are dropped or chosen, sent, and their verdicts shown as they come.
(() => {
  const byId = (id) => document.getElementById(id);
  const limits = { bytes: Number(document.body.dataset.maxBytes), files: Number(document.body.dataset.maxFiles) };
  const SHOWN = 30; // names that are listed
  const chosen = { reference: [], copies: [] };
  let job = null, events = null, busy = false;

  function element(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }
  function complain(text) {
    byId("error").textContent = text;
    byId("error").hidden = !text;
  }
  // What would be refused anyway is said before anything is sent.
  function problem() {
    const large = [...chosen.reference, ...chosen.copies].find((file) => file.size > limits.bytes);
    if (large) return `${large.name}: larger than ${limits.bytes / 1e6} MB; shrink it, or start llise serve with --max-size`;
    if (chosen.copies.length > limits.files) return `More than ${limits.files} copies; compare fewer at a time.`;
    return "";
  }
  function showChosen() {
    for (const field of ["reference", "copies"]) {
      const items = chosen[field].slice(0, SHOWN).map((file) => element("li", {}, file.name)), more = chosen[field].length - SHOWN;
      byId(`${field}-list`).replaceChildren(...items, ...(more > 0 ? [element("li", {}, `and ${more} more`)] : []));
    }
    complain(problem());
    byId("compare").disabled = busy || Boolean(problem()) || !chosen.reference.length || !chosen.copies.length;
  }
  function choose(field, files) {
    if (!files.length || busy) return;
    if (field === "reference") {
      chosen.reference = files.slice(0, 1);
      chosen.copies.push(...files.slice(1)); // a whole selection dropped on the reference: the first one is it
    } else {
      chosen.copies.push(...files);
    }
    showChosen();
    byId("clear").hidden = false;
    const count = chosen.copies.length;
    byId("status").textContent = `${chosen.reference.length ? "Reference" : "No reference"}, ${count} ${count === 1 ? "copy" : "copies"}`;
  }
  document.querySelectorAll(".zone").forEach((zone) => {
    const { field } = zone.dataset;
    byId(field).addEventListener("change", (event) => {
      const files = [...event.target.files];
      event.target.value = ""; // the list below holds what is chosen
      choose(field, files);
    });
    for (const type of ["dragenter", "dragover"]) zone.addEventListener(type, () => zone.classList.add("over"));
    for (const type of ["dragleave", "drop"]) zone.addEventListener(type, () => zone.classList.remove("over"));
    zone.addEventListener("drop", (event) => choose(field, [...event.dataTransfer.files]));
  });
  // A file that misses the zones must not replace the page.
  for (const type of ["dragover", "drop"]) document.addEventListener(type, (event) => event.preventDefault());

  async function send() {
    const form = new FormData();
    form.append("reference", chosen.reference[0]);
    for (const file of chosen.copies) form.append("copies", file);
    const answer = await fetch("jobs", { method: "POST", body: form });
    const content = await answer.json();
    if (!answer.ok) throw new Error(content.error);
    return content;
  }
  function setBusy(on, text) {
    busy = on;
    byId("status").textContent = text;
    for (const id of ["reference", "copies"]) byId(id).disabled = on;
    showChosen();
  }
  async function compare(event) {
    event.preventDefault();
    await forget();
    setBusy(true, "Sending…");
    try {
      const { job: name, copies } = await send();
      job = name;
      watch(copies);
    } catch (error) {
      setBusy(false, "");
      complain(error instanceof TypeError ? "The program does not answer; it may have been ended, or it refused the files." : error.message);
    }
  }
  function watch(copies) {
    byId("rows").replaceChildren();
    byId("results").hidden = false;
    byId("done").hidden = true;
    byId("progress").hidden = false;
    byId("progress").max = copies;
    byId("progress").value = 0;
    setBusy(true, `0 of ${copies}`);
    events = new EventSource(`jobs/${job}/events`);
    events.addEventListener("row", (event) => {
      byId("rows").append(row(JSON.parse(event.data)));
      byId("progress").value = byId("rows").children.length;
      byId("status").textContent = `${byId("rows").children.length} of ${copies}`;
    });
    events.addEventListener("end", (event) => end(JSON.parse(event.data)));
    events.addEventListener("error", () => {
      if (events?.readyState === EventSource.CLOSED) end({ state: "failed", error: "The program does not answer any more." });
    });
  }
  function row(result) {
    const file = element("th", { scope: "row" }, result.file);
    if (result.error) return element("tr", { class: "failed" }, file, element("td", { colspan: "4" }, result.error.replace(`${result.file}: `, "")));
    const sure = `${Math.round(100 * result.confidence)}\u00a0%`;
    return element("tr", { class: result.doubtful ? "doubtful" : "" }, file, element("td", {}, result.sentence),
      element("td", { class: "number" }, result.doubtful ? element("span", { class: "doubt" }, `${sure} ?`) : sure),
      element("td", { class: "number" }, result.psnr === null ? "∞" : result.psnr.toFixed(1)),
      element("td", { class: "number" }, result.ssim.toFixed(3)));
  }
  function end({ state, error }) {
    events.close();
    events = null;
    byId("progress").hidden = true;
    setBusy(false, state === "done" ? "Done." : "");
    if (state !== "done") {
      complain(error || "It was stopped.");
      return;
    }
    byId("open-report").href = `jobs/${job}/report.html`;
    byId("save-html").href = `jobs/${job}/report.html?download`;
    byId("save-json").href = `jobs/${job}/results.json`;
    byId("done").hidden = false;
  }
  async function forget() {
    events?.close();
    events = null;
    if (job) await fetch(`jobs/${job}`, { method: "DELETE" }).catch(() => null);
    job = null;
  }
  async function clear() {
    await forget();
    chosen.reference = [];
    chosen.copies = [];
    byId("form").reset();
    byId("results").hidden = byId("clear").hidden = true;
    setBusy(false, "");
  }
  byId("form").addEventListener("submit", compare);
  byId("clear").addEventListener("click", clear);
})();
