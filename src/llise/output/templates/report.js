(() => {
  const context = json("context");
  const { images, failures } = json("results");
  const { names, letters, colours, training } = context; // training is null where no manifold was learned
  const canvas = byId("canvas"), pen = canvas.getContext("2d");
  const state = { index: -1, block: null, alone: null, order: images.map((_, i) => i), shown: null };
  const SEVERITY_MAX = 1000;

  // ---- names and colours ----
  const rgb = (code) => [1, 3, 5].map((i) => parseInt(colours[code].slice(i, i + 2), 16));
  const isDoubtful = (confidence) => confidence < context.doubtful;
  const sure = (confidence) => (isDoubtful(confidence) ? element("span", { class: "doubt" }, `${percent(confidence)} ?`) : percent(confidence));
  const inkOn = (code) => (rgb(code)[0] * 0.299 + rgb(code)[1] * 0.587 + rgb(code)[2] * 0.114 < 100 ? "#fff" : "#000");
  const kind = (code) => element("span", { class: "kind" },
    element("span", { class: "swatch", style: { background: colours[code], color: inkOn(code) }, "aria-hidden": "true" }, letters[code]), names[code]);
  // The folder that all files share says nothing about one of them.
  const folder = images.map((image) => image.file.slice(0, image.file.lastIndexOf("/") + 1))
    .reduce((a, b) => (b.startsWith(a) ? a : a.startsWith(b) ? b : ""), images[0]?.file.replace(/[^/]*$/, "") ?? "");
  const shortName = (file) => file.slice(folder.length);
  const breakable = (name) => name.split(/(?<=[_+\-/ ])|(?=\.)/).flatMap((part) => [part, document.createElement("wbr")]);
  // Opacity grows with the logarithm of the MSE: 5 is faint, 1000 is full.
  const errorShare = (mse) => clamp(Math.log1p(mse / 5) / Math.log1p(SEVERITY_MAX / 5), 0, 1);
  const strength = (mse) => Math.max(errorShare(mse), 0.08);

  // ---- summary ----
  const value = (i, key) => (key === "verdict" ? images[i].verdict.map((c) => names[c]).join(" + ") : images[i][key] ?? Infinity);
  function fillRows() {
    byId("rows").replaceChildren(...state.order.map((i) => {
      const image = images[i];
      const row = element("tr", { "data-index": i, class: isDoubtful(image.confidence) ? "doubtful" : "", onclick: () => open(i) },
        element("td", { class: "thumb" }, element("img", { src: image.thumb, alt: "" })),
        element("td", {}, element("button", { type: "button", class: "open", title: image.file }, ...breakable(shortName(image.file)))),
        element("td", {}, ...(image.isCopy ? image.verdict.map(kind) : ["not a copy"])),
        element("td", { class: "number minor" }, sure(image.confidence)),
        element("td", { class: "number minor" }, rounded(image.mse)),
        element("td", { class: "number" }, fixed(image.psnr, 1)),
        element("td", { class: "number" }, fixed(image.ssim, 3)));
      if (i === state.index) row.setAttribute("aria-current", "true");
      return row;
    }));
  }
  function sortBy(button) {
    const head = button.closest("th"), key = button.dataset.key;
    const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    document.querySelectorAll("th[aria-sort]").forEach((th) => th.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", direction);
    const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a < b ? -1 : a > b ? 1 : 0);
    const sign = direction === "ascending" ? 1 : -1;
    state.order.sort((i, j) => sign * compare(value(i, key), value(j, key)) || i - j);
    fillRows();
    markSteps();
  }

  // ---- one image ----
  async function open(index) {
    if (index === state.index) return;
    state.index = index;
    history.replaceState(null, "", `#${index + 1}`);
    fillRows();
    markSteps();
    const stored = json(`image-${index}`);
    const [picture, ssim, reference] = await Promise.all([decoded(stored.picture), decoded(stored.ssim), referencePicture]);
    if (state.index !== index) return; // another image was opened meanwhile
    state.shown = {
      ...stored, picture, reference, ssimLayer: ssimLayer(ssim), ssimValues: pixels(ssim),
      labels: bytes(stored.labels), severity: Float64Array.from(words(stored.severity), (root) => (root / 256) ** 2),
      nearest: stored.m ? words(stored.nearest) : [], masks: stored.faults.map((fault) => mask(fault.runs, stored)),
    };
    state.alone = null;
    state.block = worstBlock();
    fillDetail(images[index]);
    byId("detail").hidden = false;
    render();
    document.body.dataset.shown = index;
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
    const index = state.order[state.order.indexOf(state.index) + by];
    if (index !== undefined) open(index);
  }
  function fillDetail(image) {
    byId("file").textContent = image.file;
    byId("verdict").textContent = image.sentence;
    byId("verdict").classList.toggle("doubtful", image.isCopy && isDoubtful(image.confidence));
    fillFaults();
    const measure = (name, text) => [element("div", {}, element("dt", {}, name), element("dd", {}, text))];
    byId("measures").replaceChildren(
      ...measure("Confidence", sure(image.confidence)), ...measure("MSE", rounded(image.mse)),
      ...measure("PSNR", image.psnr === null ? "∞" : `${fixed(image.psnr, 2)} dB`), ...measure("SSIM", fixed(image.ssim, 4)));
    fillVotes();
    byId("map-card").hidden = !(training && image.position);
    if (training && image.position) fillMap();
  }
  function fillVotes() {
    const { nearest, m } = state.shown;
    byId("votes-card").hidden = !(training && m);
    if (!training || !m) return;
    const counts = names.map(() => 0);
    nearest.forEach((i) => counts[training.labels[i]]++);
    byId("votes").replaceChildren(...counts.slice(0, -1).map((count, code) => element("li", {}, kind(code),
      element("span", { class: "bar" }, element("i", { style: { width: `${(100 * count) / nearest.length}%`, background: colours[code] } })),
      element("span", { class: "number" }, percent(count / nearest.length)))));
  }

  // ---- faults ----
  function fillFaults() {
    const { faults } = state.shown;
    byId("faults-hint").hidden = faults.length === 0;
    byId("faults").replaceChildren(...(faults.length ? faults.map(faultItem) : [element("li", { class: "quiet" }, "None.")]));
  }
  function faultItem(fault, i) {
    const code = fault.kinds[0], facts = [];
    const fact = (name, ...content) => facts.push(element("span", {}, name), element("span", {}, ...content));
    fact("Confidence", sure(fault.confidence));
    for (const [of, name, value, bounds] of fault.settings) {
      fact(fault.kinds.length > 1 ? `${names[of]}, ${name}` : capital(name), value, bounds ? element("small", {}, ` (${bounds})`) : "");
    }
    for (const [of, mse] of fault.severity) {
      fact(fault.severity.length > 1 ? `${names[of]}, MSE` : "Severity, MSE", rounded(mse), fault.severity.length > 1 ? "" : element("small", {}, ` (${fault.strength})`));
    }
    fact("Place", fault.place === "whole picture" ? fault.place : `${fault.place}, ${fault.area} of the area`);
    if (fault.explained !== null) fact("Explained", `${percent(fault.explained)} of the error`);
    return element("li", {}, element("button", {
      type: "button", class: isDoubtful(fault.confidence) ? "fault doubtful" : "fault", "aria-pressed": "false", "data-fault": i,
      style: { borderLeftColor: colours[code] }, onclick: () => showAlone(state.alone === i ? null : i),
    },
      element("span", { class: "fault-title" }, element("span", { class: "badge", style: { background: colours[code], color: inkOn(code) } }, String(i + 1)), element("span", {}, `${fault.phrase}.`)),
      element("span", { class: "facts" }, ...facts)));
  }
  function showAlone(i) {
    state.alone = i;
    byId("faults").querySelectorAll("button").forEach((b) => b.setAttribute("aria-pressed", String(Number(b.dataset.fault) === i && i !== null)));
    if (i !== null) byId("stage").scrollIntoView({ block: "nearest" });
    render();
  }
  function mask(runs, { rows, cols }) {
    const inside = new Uint8Array(rows * cols);
    for (const [row, first, last] of runs) inside.fill(1, row * cols + first, row * cols + last + 1);
    return inside;
  }
  const across = (col) => Math.min(col * context.blockSize, context.size[1]);
  const down = (row) => Math.min(row * context.blockSize, context.size[0]);
  const area = (runs) => runs.map(([row, first, last]) => `M${across(first)} ${down(row)}H${across(last + 1)}V${down(row + 1)}H${across(first)}Z`).join("");
  // The sides of blocks that lie between the region and what is not in it.
  function border(inside) {
    const { rows, cols } = state.shown, lines = [];
    const at = (row, col) => row >= 0 && col >= 0 && row < rows && col < cols && inside[row * cols + col] === 1;
    const trace = (n, m, differs, line) => {
      for (let i = 0; i <= n; i++) {
        for (let j = 0, start = 0; j <= m; j++) {
          const here = j < m && differs(i, j);
          if (here && !(j > 0 && differs(i, j - 1))) start = j;
          if (!here && j > 0 && differs(i, j - 1)) lines.push(line(i, start, j));
        }
      }
    };
    trace(rows, cols, (r, c) => at(r - 1, c) !== at(r, c), (r, from, to) => `M${across(from)} ${down(r)}H${across(to)}`);
    trace(cols, rows, (c, r) => at(r, c - 1) !== at(r, c), (c, from, to) => `M${across(c)} ${down(from)}V${down(to)}`);
    return lines.join("");
  }
  // The number stands on the first corner of a region, beside a region that it would hide.
  function badgePlace(runs, r) {
    const [height, width] = context.size, top = down(runs[0][0]), bottom = down(runs[runs.length - 1][0] + 1);
    const left = across(Math.min(...runs.map((run) => run[1]))), right = across(Math.max(...runs.map((run) => run[2])) + 1);
    const place = (x, y) => [clamp(x, 1.2 * r, width - 1.2 * r), clamp(y, 1.2 * r, height - 1.2 * r)];
    if (Math.max(right - left, bottom - top) >= 5 * r) return place(across(runs[0][1]), top);
    return place(right + 3 * r < width ? right + 1.5 * r : left - 1.5 * r, (top + bottom) / 2);
  }
  function outline(fault, i) {
    const code = fault.kinds[0], path = border(state.shown.masks[i]), group = shape("g", { "data-fault": i, class: isDoubtful(fault.confidence) ? "doubtful" : "" });
    const r = Math.max(...context.size) / 44, [x, y] = badgePlace(fault.runs, r);
    const text = shape("text", { x, y, "font-size": 1.35 * r, fill: inkOn(code) });
    text.textContent = i + 1;
    if (state.alone === i) group.append(shape("path", { d: area(fault.runs), class: "tint", style: `fill: ${colours[code]}` }));
    group.append(shape("path", { d: path, class: "halo" }), shape("path", { d: path, class: "line", stroke: colours[code] }),
      shape("circle", { cx: x, cy: y, r, fill: colours[code] }), text);
    return group;
  }
  function drawOutlines(overlay) {
    const [height, width] = context.size, { faults } = state.shown, nodes = [];
    byId("outlines").setAttribute("viewBox", `0 0 ${width} ${height}`);
    if (state.alone !== null) nodes.push(shape("path", { d: `M0 0H${width}V${height}H0Z${area(faults[state.alone].runs)}`, class: "dim" }));
    faults.forEach((fault, i) => {
      if (state.alone === i || (state.alone === null && overlay !== "off")) nodes.push(outline(fault, i));
    });
    byId("outlines").replaceChildren(...nodes);
  }

  // ---- picture and overlay ----
  const chosen = (name) => document.querySelector(`input[name=${name}]:checked`).value;
  function ssimLayer(image) {
    const data = pixels(image), layer = blank(data.width, data.height);
    for (let i = 0; i < data.data.length; i += 4) {
      cividis(data.data[i] / 255).forEach((value, c) => (data.data[i + c] = value));
    }
    layer.getContext("2d").putImageData(data, 0, 0);
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
    error: () => blockLayer((i) => [...cividis(errorShare(state.shown.severity[i])), 255]),
    ssim: () => state.shown.ssimLayer,
  };
  function render() {
    const [height, width] = context.size, shown = state.shown;
    const zoom = Math.max(1, Math.ceil(512 / Math.max(width, height)));
    const scale = zoom * (shown.picture.naturalWidth / width), side = context.blockSize * scale;
    canvas.width = shown.picture.naturalWidth * zoom;
    canvas.height = shown.picture.naturalHeight * zoom;
    pen.imageSmoothingEnabled = false;
    pen.drawImage(chosen("picture") === "copy" ? shown.picture : shown.reference, 0, 0, canvas.width, canvas.height);
    const overlay = chosen("overlay");
    pen.globalAlpha = byId("opacity").value / 100;
    // Blocks at the right and lower edge may reach beyond the picture: the canvas crops them.
    const extent = overlay === "ssim" ? [canvas.width, canvas.height] : [shown.cols * side, shown.rows * side];
    if (overlay !== "off") pen.drawImage(layers[overlay](), 0, 0, ...extent);
    pen.globalAlpha = 1;
    const [row, col] = state.block, line = Math.max(2, canvas.width / 300);
    pen.lineWidth = 2 * line;
    pen.strokeStyle = "#000";
    pen.strokeRect(col * side, row * side, side, side);
    pen.lineWidth = line;
    pen.strokeStyle = "#fff";
    pen.strokeRect(col * side, row * side, side, side);
    drawOutlines(overlay);
    fillScale(overlay);
    fillBlock();
  }
  function fillScale(overlay) {
    const ramp = (stops) => element("i", { style: { background: `linear-gradient(90deg, ${stops.join(",")})` } });
    const content = {
      kinds: () => ["Colour: kind of fault. Opacity: MSE 0", ramp([0, 20, 100, 300, 1000].map((mse) => `rgba(127,127,127,${strength(mse)})`)), "1000"],
      error: () => ["MSE of the block 0", ramp(CIVIDIS.map((c) => `rgb(${c})`)), "1000 and more"],
      ssim: () => ["SSIM 0, different", ramp(CIVIDIS.map((c) => `rgb(${c})`)), "1, same"],
      off: () => [],
    };
    byId("scale").replaceChildren(...content[overlay]());
  }

  // ---- block under the pointer ----
  function fillBlock() {
    const shown = state.shown, [row, col] = state.block, at = row * shown.cols + col, size = context.blockSize;
    const [height, width] = context.size, x = col * size, y = row * size;
    const data = shown.ssimValues, sx = data.width / width, sy = data.height / height;
    const centre = [Math.min(x + size / 2, width - 1), Math.min(y + size / 2, height - 1)];
    const ssim = data.data[4 * (Math.floor(centre[1] * sy) * data.width + Math.floor(centre[0] * sx))] / 255;
    const near = Array.from(shown.nearest.slice(at * shown.m, (at + 1) * shown.m));
    const here = shown.masks.flatMap((inside, i) => (inside[at] ? [i + 1] : []));
    byId("block").replaceChildren(
      element("strong", {}, kind(shown.labels[at])),
      `MSE ${rounded(shown.severity[at])}, local SSIM ${ssim.toFixed(2)}`, here.length ? `, fault ${here.join(" and ")}` : "",
      element("div", { class: "quiet small" }, `row ${row + 1}, column ${col + 1}; pixels ${x}–${Math.min(x + size, width) - 1} across, ${y}–${Math.min(y + size, height) - 1} down`),
      ...(near.length ? [element("div", { class: "small" }, "Nearest training blocks, with the MSE of their image:"),
        element("ol", { class: "small" }, ...near.map((i) => element("li", {}, kind(training.labels[i]), training.labels[i] ? `, MSE ${rounded(training.mse[i])}` : "")))] : []));
    for (const [id, image] of [["patch-copy", shown.picture], ["patch-reference", shown.reference]]) {
      const patch = byId(id), ink = patch.getContext("2d"), unit = patch.width / 3, k = image.naturalWidth / width;
      ink.imageSmoothingEnabled = false;
      ink.fillStyle = "#808080";
      ink.fillRect(0, 0, patch.width, patch.height);
      ink.drawImage(image, (x - size) * k, (y - size) * k, 3 * size * k, 3 * size * k, 0, 0, patch.width, patch.height);
      ink.strokeStyle = "#000";
      ink.strokeRect(unit - 1.5, unit - 1.5, unit + 3, unit + 3);
      ink.strokeStyle = "#fff";
      ink.strokeRect(unit - 0.5, unit - 0.5, unit + 1, unit + 1);
    }
    byId("map").querySelectorAll(".near").forEach((node) => node.remove());
    for (const i of new Set(byId("map-card").hidden ? [] : near)) {
      const [cx, cy] = place(training.positions[i]);
      byId("map").append(shape("circle", { cx, cy, r: 7.5, class: "near" }));
    }
  }
  function select(row, col) {
    const { rows, cols } = state.shown, next = [clamp(row, 0, rows - 1), clamp(col, 0, cols - 1)];
    if (next[0] === state.block[0] && next[1] === state.block[1]) return;
    state.block = next;
    render();
  }
  function point(event) {
    const frame = canvas.getBoundingClientRect(), [height, width] = context.size, size = context.blockSize;
    select(Math.floor(((event.clientY - frame.top) / frame.height) * height / size),
      Math.floor(((event.clientX - frame.left) / frame.width) * width / size));
  }
  function key(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const far = event.shiftKey ? 8 : 1;
    select(state.block[0] + far * move[0], state.block[1] + far * move[1]);
  }

  // ---- manifold map ----
  const bounds = (() => {
    const all = [...(training ? training.positions : []), ...images.flatMap((image) => (image.position ? [image.position] : []))];
    return [0, 1].map((axis) => {
      const values = all.map((p) => p[axis]), low = Math.min(...values);
      return [low, Math.max(...values) - low || 1];
    });
  })();
  const place = (p) => [16 + (408 * (p[0] - bounds[0][0])) / bounds[0][1], 284 - (268 * (p[1] - bounds[1][0])) / bounds[1][1]];
  function fillMap() {
    const nodes = [];
    training.positions.forEach((p, i) => {
      const [cx, cy] = place(p), code = training.labels[i], title = `${names[code]}, MSE ${rounded(training.mse[i])}`;
      const r = code ? 3 + 2.5 * strength(training.mse[i]) : 7;
      nodes.push(shape("circle", { cx, cy, r, fill: colours[code], class: "train" }, title));
    });
    images.forEach((image, i) => {
      if (i === state.index || !image.position) return;
      const [x, y] = place(image.position);
      const node = shape("path", { d: `M${x} ${y - 5}l5 5-5 5-5-5z`, class: "other" }, image.file);
      node.addEventListener("click", () => open(i));
      nodes.push(node);
    });
    const [x, y] = place(images[state.index].position);
    nodes.push(shape("path", { d: `M${x} 0V300M0 ${y}H440`, class: "cross" }));
    nodes.push(shape("circle", { cx: x, cy: y, r: 9, class: "this" }, images[state.index].file));
    byId("map").replaceChildren(...nodes);
    byId("map").setAttribute("aria-label", `Map of ${training.labels.length} training images with ${images[state.index].file} placed in it. ${images[state.index].sentence}`);
  }

  // ---- theme ----
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

  // ---- start ----
  const referencePicture = decoded(context.reference);
  labelTheme();
  byId("about").textContent = context.about;
  if (failures.length) {
    byId("failures").hidden = false;
    byId("failures").append(...failures.map((text) => element("li", {}, text)));
  }
  document.querySelectorAll("th button").forEach((button) => button.addEventListener("click", () => sortBy(button)));
  document.querySelectorAll("input[name=overlay], input[name=picture], #opacity").forEach((input) => input.addEventListener("input", render));
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("pointerdown", point);
  canvas.addEventListener("keydown", key);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && state.alone !== null) showAlone(null);
  });
  byId("previous").addEventListener("click", () => step(-1));
  byId("next").addEventListener("click", () => step(1));
  byId("main").hidden = false;
  byId("main").classList.toggle("empty", images.length === 0);
  fillRows();
  if (images.length) open(clamp((parseInt(location.hash.slice(1), 10) || 1) - 1, 0, images.length - 1));
})();
