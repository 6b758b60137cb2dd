// SPDX-License-Identifier: Apache-2.0
// Elements of the page. What comes from outside is only ever set as text.

const LEAST_POINTS = 20; // of a chart
const SVG = "http://www.w3.org/2000/svg";

export const byId = id => document.getElementById(id);

export function element(name, content, className) {
  const e = document.createElement(name);
  if (content !== undefined) e.textContent = content;
  if (className) e.className = className;
  return e;
}

export function si(n, unit) {
  if (!n) return "0" + (unit ? " " + unit : "");
  const scale = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]]
    .find(([size]) => n >= size * 0.9995) || [1, ""];
  const value = n / scale[0];
  const digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return value.toFixed(scale[0] === 1 && digits ? 1 : digits) + (unit ? " " : "")
    + scale[1] + (unit || "");
}

export const count = n => Math.round(n).toLocaleString("en");

export function table(rows) {
  const t = element("table");
  for (const [name, value, bad] of rows) {
    const row = t.insertRow();
    if (bad) row.className = "bad";
    row.insertCell().textContent = name;
    const cell = row.insertCell();
    cell.textContent = value;
    cell.className = "number";
  }
  return t;
}

export function chart(points) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "chart");
  const width = Math.max(LEAST_POINTS, points.length) - 1;
  svg.setAttribute("viewBox", "0 0 " + width + " 100");
  svg.setAttribute("preserveAspectRatio", "none");
  const line = document.createElementNS(SVG, "polyline");
  const most = Math.max(...points, 1);
  line.setAttribute("points", points.map((y, i) =>
    (width + 1 - points.length + i) + "," + (97 - 90 * y / most)).join(" "));
  svg.append(line);
  return svg;
}
