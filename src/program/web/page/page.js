// SPDX-License-Identifier: Apache-2.0
// The page of `perigee web`: asks its server once a second what the graph does, and
// shows it.

import {byId, element, si} from "./elements.js";
import {drawCharts, remember} from "./charts.js";
import {fillDetails, showDetails, wantedSeries} from "./details.js";
import {loadInstances} from "./instances.js";
import {fillOverview, showOverview} from "./overview.js";
import {draw, findShown, markChosen, showRates} from "./picture.js";
import {ask} from "./server.js";
import {NOTHING, shownAs, state} from "./state.js";
import {bring, start} from "./view.js";

const PERIOD_MS = 1000;
const AGAIN = 5; // periods, until a graph that couldn't be had is asked for again
const NARROW = "(max-width: 900px)";

const phone = matchMedia("(max-width: 600px)"); // packets go down there, not across

let isOld = true;   // is the graph, whose picture stays meanwhile, to be asked for again?
let waited = 0;     // periods without a graph

function tellProblem(sentence) {
  byId("problem").textContent = sentence || "";
  byId("problem").hidden = !sentence;
}

const acts = {overview: () => showOverview(), fold: (name, isFolded) => {
  state.folded[isFolded ? "add" : "delete"](name);
  loadGraph().then(() => {
    if (isFolded) choose("app", name); else showOverview();
  }).catch(error => tellProblem(error.message));
}};

function choose(kind, name) {
  showDetails(kind, kind === "app" ? shownAs(name) : name, acts);
  if (matchMedia(NARROW).matches) byId("detail").scrollIntoView();
}

// Show the place of the app or the link in the picture, and choose it.
function open(kind, name) {
  const g = findShown(kind, name);
  if (g) bring(g, true);
  showDetails(kind, kind === "app" ? shownAs(name) : name, acts);
  if (g) g.focus({preventScroll: true});
}

function summary() {
  const engine = state.live.engine;
  byId("summary").textContent = [si(engine.pps, "pps"), si(engine.bits, "bit/s"),
    Math.round(100 * engine.load) + " % CPU"].join(", ");
}

function show() {
  showRates();
  summary();
  if (state.history) drawCharts(open);
  if (state.chosen) fillDetails(); else fillOverview();
}

function showFolds() {
  const {compounds} = state.graph, place = byId("folds").querySelector("div");
  byId("folds").hidden = !compounds.length;
  const box = (title, isOn, act) => {
    const label = element("label"), input = element("input");
    input.type = "checkbox";
    input.checked = isOn;
    input.addEventListener("change", () => {
      act(input.checked);
      loadGraph().catch(error => tellProblem(error.message));
    });
    label.append(input, title);
    return label;
  };
  place.replaceChildren(box("all", compounds.every(c => state.folded.has(c.name)), isOn => {
    state.folded = new Set(isOn ? compounds.map(c => c.name) : []);
  }), ...compounds.map(c => box(`${c.name} (${c.apps.length})`, state.folded.has(c.name),
    isOn => state.folded[isOn ? "add" : "delete"](c.name))));
}

function listNames() {
  byId("names").replaceChildren(...state.graph.apps.map(app => {
    const option = element("option");
    option.value = app.name;
    return option;
  }));
}

function setGraph(graph) {
  state.graph = {...NOTHING, ...graph};
  for (const key of Object.keys(NOTHING))
    if (!Array.isArray(state.graph[key])) state.graph[key] = [];
  draw(choose);
  showFolds();
  listNames();
  if (state.chosen && !markChosen()) showOverview();
  if (state.live) showRates();
}

async function loadGraph() {
  const graph = await ask("graph", {folded: [...state.folded], down: phone.matches});
  document.title = (graph.name || graph.program) + " - Perigee";
  isOld = false;
  setGraph(graph);
}

// The graph; or, where the instance has none to show, why: its counters are shown then.
async function tryGraph(pid) {
  try { await loadGraph(); } catch (error) {
    if (error.message === "Failed to fetch") throw error;
    isOld = false;
    waited = 0;
    document.title = "Perigee";
    setGraph({pid, why: error.message});
  }
}

async function step() {
  await loadInstances(openInstance);
  const wanted = state.instance;
  const now = await ask("live");
  if (state.instance !== wanted) return;
  const changed = now.pid !== state.graph.pid
    || state.live && now.engine.configs !== state.live.engine.configs
    || !state.graph.svg && ++waited >= AGAIN;
  if (state.live && now.pid !== state.live.pid) state.history = null;
  state.live = now;
  if (isOld || changed) await tryGraph(now.pid);
  remember(await ask("history", {since: state.history ? state.history.last : 0,
    series: wantedSeries()}));
  if (state.instance !== wanted) return;
  show();
  tellProblem("");
}

async function run() {
  try { await step(); } catch (error) {
    tellProblem(error.message === "Failed to fetch"
      ? "`perigee web` doesn't answer any more" : error.message);
    if (!state.live && byId("waiting")) byId("waiting").textContent = "Waiting …";
    isOld = true;
  }
  setTimeout(run, PERIOD_MS);
}

function openInstance(pid) {
  if (matchMedia(NARROW).matches) showList(false);
  if (pid === Number(state.instance)) return;
  Object.assign(state, {instance: pid, live: null, history: null, folded: new Set(),
    graph: NOTHING});
  const waiting = element("p", "Reading the graph …");
  waiting.id = "waiting";
  byId("picture").replaceChildren(waiting);
  byId("summary").textContent = "";
  isOld = true;
  showOverview();
}

function showList(isShown) {
  byId("list").setAttribute("aria-expanded", String(isShown));
  byId("instances").hidden = !isShown;
}

function search() {
  const text = byId("search").value.toLowerCase();
  const names = state.graph.apps.map(app => app.name);
  const name = names.find(n => n.toLowerCase() === text)
    || text && names.find(n => n.toLowerCase().includes(text));
  byId("search").setAttribute("aria-invalid", String(Boolean(text && !name)));
  if (name) open("app", name);
}

phone.addEventListener("change", () => { isOld = true; });

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
}

function startTheme() {
  let theme = null;
  try { theme = localStorage.getItem("theme"); } catch { /* it isn't kept */ }
  setTheme(theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  byId("theme").addEventListener("click", () => {
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    try { localStorage.setItem("theme", document.documentElement.dataset.theme); }
    catch { /* it isn't kept */ }
  });
}

document.addEventListener("keydown", event => {
  const isText = event.target.matches("input");
  if (event.key === "/" && !isText) {
    event.preventDefault();
    byId("search").focus();
  } else if (event.key === "Escape" && state.chosen && !isText) showOverview();
});
byId("search").addEventListener("change", search);
byId("list").addEventListener("click", () =>
  showList(byId("list").getAttribute("aria-expanded") !== "true"));
showList(!matchMedia(NARROW).matches);
startTheme();
start();
showOverview(open);
run();
