// SPDX-License-Identifier: Apache-2.0
// Values over time as lines. The server keeps ten minutes; `times` are seconds since the
// epoch, values that are unknown null.

import {byId, button, element, seconds, si} from "./elements.js";
import {allDrops, state} from "./state.js";

const SVG = "http://www.w3.org/2000/svg";
const MINUTES = 10;
const SPANS = [1, 2, 5, MINUTES]; // minutes: the axis grows with what there is
const WIDTH = 600, HEIGHT = 100, TOP = 6;

const percent = x => Math.round(100 * x) + " %";

// The whole instance's: {title, keys of state.history, show = a value as text}.
const CHARTS = [
  {title: "Packets a second", keys: ["pps"], show: x => si(x)},
  {title: "Drops a second", keys: ["drops"], show: x => si(x), bad: true,
    leadsToDrops: true, hint: "show where most is dropped"},
  {title: "CPU load", keys: ["load"], show: percent},
  {title: "Breath: longest, mean", keys: ["longest_breath", "breath"],
    show: seconds},
];

function svgElement(name, attributes) {
  const e = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  return e;
}

const clock = time => new Date(time * 1000).toLocaleTimeString();

// The line's pieces: a value that is unknown parts them.
function pieces(values, times, end, most, minutes) {
  const list = [[]];
  values.forEach((value, i) => {
    if (value === null) return list.push([]);
    const x = WIDTH - (end - times[i]) * WIDTH / (60 * minutes);
    if (x >= 0) list[list.length - 1].push(x.toFixed(1) + ","
      + (HEIGHT - (HEIGHT - TOP) * value / most).toFixed(1));
  });
  return list.filter(points => points.length);
}

// A chart, whose draw(times, lists) shows lists of values. Where there is an act(), a
// click on its title or its lines calls it.
export function chart({title, show, bad, act, hint}) {
  const figure = element("figure", undefined, "chart" + (bad ? " bad-line" : ""));
  const caption = element("figcaption");
  const name = act ? button(title, act) : element("span", title), value = element("b");
  if (act) name.title = hint;
  caption.append(name, value);
  const svg = svgElement("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
    preserveAspectRatio: "none", "aria-label": title});
  const axis = element("div", undefined, "axis");
  const begin = element("span");
  axis.append(begin, element("span", "now"));
  const most = element("span", "", "most"), plot = element("div", undefined, "plot");
  plot.append(svg, most);
  figure.append(caption, plot, axis);
  let shown = {times: [], lists: []}, minutes = MINUTES;

  const draw = (times, lists) => {
    shown = {times, lists};
    const known = lists.flat().filter(x => x !== null);
    const top = Math.max(...known, 0) || 1;
    const last = lists.map(list => list[list.length - 1]);
    value.textContent = last.filter(x => x !== null && x !== undefined).map(show)
      .join(", ");
    most.textContent = known.length ? show(Math.max(...known)) : "";
    svg.setAttribute("aria-label", title + ": now " + (value.textContent || "unknown")
      + ", at most " + (most.textContent || "unknown") + " in ten minutes");
    const end = times[times.length - 1];
    minutes = SPANS.find(span => end - times[0] <= 60 * span) || MINUTES;
    begin.textContent = `-${minutes} min`;
    svg.replaceChildren(...[0.25, 0.5, 0.75].map(part => svgElement("line",
      {class: "grid", x1: WIDTH * part, x2: WIDTH * part, y1: 0, y2: HEIGHT})));
    lists.forEach((list, i) => {
      for (const points of pieces(list, times, end, top, minutes)) {
        if (points.length === 1) points.push(points[0]);
        svg.append(svgElement("polyline",
          {class: "series" + i, points: points.join(" ")}));
      }
    });
  };

  if (act) svg.addEventListener("click", act);

  // The time and the value under the mouse.
  svg.addEventListener("pointermove", event => {
    const {times, lists} = shown, box = svg.getBoundingClientRect();
    if (!times.length) return;
    const time = times[times.length - 1]
      - 60 * minutes * (1 - (event.clientX - box.left) / box.width);
    let at = times.findIndex(t => t >= time);
    if (at < 0) at = times.length - 1;
    name.textContent = clock(times[at]);
    value.textContent = lists.map(list => list[at])
      .filter(x => x !== null && x !== undefined).map(show).join(", ") || "unknown";
  });
  svg.addEventListener("pointerleave", () => {
    name.textContent = title;
    draw(shown.times, shown.lists);
  });
  return {figure, draw};
}

let charts = null;

// open(kind, name): show that place.
export function drawCharts(open) {
  if (!charts) {
    const act = () => {
      const [drop] = state.live ? allDrops() : [];
      if (drop) open(drop.kind, drop.name);
    };
    charts = CHARTS.map(of => ({of, ...chart({...of, act: of.leadsToDrops && act})}));
    byId("charts").replaceChildren(...charts.map(c => c.figure));
  }
  const {times} = state.history;
  for (const c of charts) {
    const lists = c.of.keys.map(key => state.history[key]);
    c.figure.hidden = lists.flat().every(x => x === null); // it isn't told
    c.draw(times, lists);
  }
}

// Join an answer of the server to what is known.
export function remember(answer) {
  const known = state.history;
  if (!answer.times) return;
  if (!known || answer.last < known.last) return void (state.history = answer);
  const from = Math.max(0, known.times.length + answer.times.length - 60 * MINUTES);
  for (const key of ["times", "bits", ...CHARTS.flatMap(c => c.keys)])
    known[key] = [...known[key], ...answer[key]].slice(from);
  known.last = answer.last;
  known.more = answer.more;
}
