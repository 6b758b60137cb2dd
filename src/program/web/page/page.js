// SPDX-License-Identifier: Apache-2.0
// The page of `perigee web`: asks its server once a second what the graph does, and
// shows it.

import {byId, element, si} from "./elements.js";
import {choose, fillNumbers} from "./details.js";
import {draw, find, showRates} from "./picture.js";
import {ask, post} from "./server.js";
import {costOf, state} from "./state.js";

const PERIOD_MS = 1000;
const MOST_POINTS = 120; // of a chart: two minutes

let isOld = true; // is the graph, whose picture stays meanwhile, to be asked for again?

function tellProblem(sentence) {
  byId("problem").textContent = sentence || "";
  byId("problem").hidden = !sentence;
}

function remember() {
  for (const app of state.graph.apps) {
    const points = state.history.get(app.name) || [];
    const last = points[points.length - 1] || 0; // where nothing was sampled
    points.push(costOf(app.name) || last);
    if (points.length > MOST_POINTS) points.shift();
    state.history.set(app.name, points);
  }
}

function summary() {
  const engine = state.live.engine, e = state.live.expected;
  byId("summary").textContent = [si(engine.pps, "pps"), si(engine.bits, "bit/s"),
    Math.round(100 * engine.load) + " % CPU"].join(", ");
  if (!e) return byId("cost").textContent = "";
  const tell = p => `${p.cycles.toFixed(1)} cycles a packet (receive `
    + `${p.receive.toFixed(1)}, apps ${p.task.toFixed(1)}, send ${p.send.toFixed(1)}, `
    + `engine ${p.engine.toFixed(1)})`;
  byId("cost").textContent = "measured: " + tell(e.measured) + ", which allow "
    + si(e.allowed, "pps") + " a CPU"
    + (e.predicted ? "; predicted: " + tell(e.predicted) : "");
  byId("cost").title = e.why ? "no prediction: " + e.why : "";
}

function show() {
  showRates();
  remember();
  summary();
  if (state.chosen) fillNumbers();
}

async function loadInstances() {
  const {instances, only} = await (await post("instances")).json();
  const select = byId("instances");
  const wanted = state.instance;
  select.replaceChildren(...(instances || []).map(i => {
    const option = element("option", (i.name || i.program) + " (" + i.pid + ")");
    option.value = i.pid;
    return option;
  }));
  select.hidden = only !== undefined;
  state.instance = only !== undefined ? only
    : (instances || []).some(i => String(i.pid) === String(wanted)) ? wanted
    : instances && instances[0].pid;
  if (!state.instance) throw new Error("no instance of Perigee runs");
  if (only === undefined) select.value = state.instance;
}

async function loadGraph() {
  state.graph = await ask("graph");
  isOld = false;
  for (const key of ["apps", "links", "regions"])
    if (!Array.isArray(state.graph[key])) state.graph[key] = [];
  document.title = (state.graph.name || state.graph.program) + " - Perigee";
  state.history = new Map();
  draw(choose);
  if (state.chosen && find(state.chosen.kind, state.chosen.name))
    find(state.chosen.kind, state.chosen.name).classList.add("chosen");
  else state.chosen = null;
}

async function step() {
  if (isOld) {
    await loadInstances();
    await loadGraph();
  }
  const now = await ask("live");
  const changed = now.pid !== state.graph.pid
    || state.live && now.engine.configs !== state.live.engine.configs;
  state.live = now;
  if (changed) await loadGraph();
  show();
  tellProblem("");
}

async function run() {
  try { await step(); } catch (error) {
    tellProblem(error.message === "Failed to fetch"
      ? "`perigee web` doesn't answer any more" : error.message);
    isOld = true;
  }
  setTimeout(run, PERIOD_MS);
}

byId("instances").addEventListener("change", event => {
  state.instance = event.target.value;
  state.live = state.chosen = null;
  isOld = true;
});
run();
