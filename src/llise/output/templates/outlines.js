// Regions of faults: their blocks, their borders, and the numbers that stand on the picture.
function mask(runs, { rows, cols }) {
  const inside = new Uint8Array(rows * cols);
  for (const [row, first, last] of runs) inside.fill(1, row * cols + first, row * cols + last + 1);
  return inside;
}
const across = (col) => Math.min(col * BLOCK, WIDTH);
const down = (row) => Math.min(row * BLOCK, HEIGHT);
const area = (runs) => runs.map(([row, first, last]) => `M${across(first)} ${down(row)}H${across(last + 1)}V${down(row + 1)}H${across(first)}Z`).join("");
// The sides of blocks that lie between the region and what is not in it.
function border(inside, { rows, cols }) {
  const lines = [];
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
// The number stands on the first corner of a region, beside a region that it would hide, and inside the view.
function badgePlace(runs, r, view) {
  const top = down(runs[0][0]), bottom = down(runs[runs.length - 1][0] + 1);
  const left = across(Math.min(...runs.map((run) => run[1]))), right = across(Math.max(...runs.map((run) => run[2])) + 1);
  const place = (x, y) => [clamp(x, view.x + 1.2 * r, view.x + view.w - 1.2 * r), clamp(y, view.y + 1.2 * r, view.y + view.h - 1.2 * r)];
  if (right < view.x || bottom < view.y || left > view.x + view.w || top > view.y + view.h) return [left, top];
  if (Math.max(right - left, bottom - top) >= 5 * r) return place(across(runs[0][1]), top);
  return place(right + 3 * r < view.x + view.w ? right + 1.5 * r : left - 1.5 * r, (top + bottom) / 2);
}
function outline(fault, i, path, view, tinted) {
  const code = fault.kinds[0], group = shape("g", { "data-fault": i, class: isDoubtful(fault.confidence) ? "doubtful" : "" });
  const r = Math.max(view.w, view.h) / 44, [x, y] = badgePlace(fault.runs, r, view);
  const text = shape("text", { x, y, "font-size": 1.35 * r, fill: inkOn(code) });
  text.textContent = i + 1;
  if (tinted) group.append(shape("path", { d: area(fault.runs), class: "tint", style: { fill: colours[code] } }));
  group.append(shape("path", { d: path, class: "halo" }), shape("path", { d: path, class: "line", stroke: colours[code] }),
    shape("circle", { cx: x, cy: y, r, fill: colours[code] }), text);
  return group;
}
function drawOutlines(overlay) {
  const { faults, borders } = state.shown, { view } = state, nodes = [];
  byId("outlines").setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
  if (state.alone !== null) nodes.push(shape("path", { d: `M0 0H${WIDTH}V${HEIGHT}H0Z${area(faults[state.alone].runs)}`, class: "dim" }));
  faults.forEach((fault, i) => {
    if (state.alone === i || (state.alone === null && overlay !== "off")) nodes.push(outline(fault, i, borders[i], view, state.alone === i));
  });
  byId("outlines").replaceChildren(...nodes);
}
