// SPDX-License-Identifier: Apache-2.0
// The page of `perigee web`: asks its server once a second what the graph does, and
// writes that into the picture, which the server has drawn. What comes from outside is
// only ever set as text.
"use strict";

const PERIOD_MS = 1000;
const LEAST_POINTS = 20, MOST_POINTS = 120; // of a chart: up to two minutes
const SVG = "http://www.w3.org/2000/svg";

const byId = id => document.getElementById(id);
const token = new URLSearchParams(location.hash.slice(1)).get("token");

let graph = null;   // what the server told of the graph last
let live = null;    // what it does now
let instance = null;
let chosen = null;  // {kind: "link" or "app", name}
let history = new Map(); // cycles of a packet by app or region, over time

// Asking ---------------------------------------------------------------------

async function post(name, body) {
  const headers = {"X-Perigee": "1", "Content-Type": "application/json"};
  if (token) headers.Authorization = "Bearer " + token;
  const answer = await fetch("/api/" + name,
    {method: "POST", headers, body: JSON.stringify(body || {})});
  if (!answer.ok) throw new Error((await answer.json()).error);
  return answer;
}

const ask = async (name, body) =>
  (await post(name, {instance: String(instance), ...body})).json();

function tellProblem(sentence) {
  byId("problem").textContent = sentence || "";
  byId("problem").hidden = !sentence;
}

// Writing --------------------------------------------------------------------

function element(name, content, className) {
  const e = document.createElement(name);
  if (content !== undefined) e.textContent = content;
  if (className) e.className = className;
  return e;
}

function si(n, unit) {
  if (!n) return "0" + (unit ? " " + unit : "");
  const scale = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]]
    .find(([size]) => n >= size * 0.9995) || [1, ""];
  const value = n / scale[0];
  const digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return value.toFixed(scale[0] === 1 && digits ? 1 : digits) + (unit ? " " : "")
    + scale[1] + (unit || "");
}

const count = n => Math.round(n).toLocaleString("en");

function table(rows) {
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

function chart(points) {
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

// The picture ----------------------------------------------------------------

const find = (kind, name) => [...byId("picture").querySelectorAll("g." + kind)]
  .find(g => g.dataset[kind] === String(name));

function draw() {
  const picture = new DOMParser().parseFromString(graph.svg, "image/svg+xml")
    .documentElement;
  byId("picture").replaceChildren(document.importNode(picture, true));
  for (const kind of ["link", "app"])
    for (const g of byId("picture").querySelectorAll("g." + kind)) {
      g.setAttribute("tabindex", "0");
      g.setAttribute("role", "button");
      g.setAttribute("aria-label", kind + " " + g.dataset[kind]);
      g.addEventListener("click", () => choose(kind, g.dataset[kind]));
      g.addEventListener("keydown", event => {
        if (event.key === "Enter") choose(kind, g.dataset[kind]);
      });
    }
}

const appOf = name => graph.apps.find(app => app.name === name);

// Cycles of a packet that the app's own loop takes, or its region's.
function costOf(name) {
  const region = appOf(name) && appOf(name).region;
  const names = region ? graph.regions[region - 1].apps : [name];
  const tasks = (live.cycles || []).filter(c => names.includes(c.app) && c.cycles !== undefined);
  if (!tasks.length) return null;
  return tasks.reduce((sum, task) => sum + task.cycles, 0);
}

const dropsOf = name =>
  ((live.apps[name] || {}).drops || []).reduce((sum, drop) => sum + drop.pps, 0);

function showLink(g) {
  const now = live.links[g.dataset.link];
  if (!now) return;
  g.querySelector(".rate").textContent = si(now.pps);
  g.classList.toggle("idle", now.pps === 0);
  g.classList.toggle("full", now.drops > 0);
  g.querySelector(".line").style.strokeWidth = 1 + Math.log10(1 + now.pps) / 3;
}

function showApp(g) {
  const drops = dropsOf(g.dataset.app), cost = costOf(g.dataset.app);
  const inRegion = appOf(g.dataset.app) && appOf(g.dataset.app).region;
  g.classList.toggle("drops", drops > 0);
  g.querySelector(".live").textContent = drops > 0 ? si(drops) + " drops/s"
    : cost !== null && !inRegion ? cost.toFixed(1) + " cycles" : "";
}

function showRegion(g) {
  const region = graph.regions[g.dataset.region - 1];
  const cost = costOf(region.apps[0]);
  g.querySelector(".title").textContent = "region " + region.number
    + (region.cpu !== undefined ? ", CPU " + region.cpu : "")
    + (cost !== null ? ": " + cost.toFixed(1) + " cycles a packet" : "");
}

function remember() {
  for (const app of graph.apps) {
    const points = history.get(app.name) || [];
    const last = points[points.length - 1] || 0; // where nothing was sampled
    points.push(costOf(app.name) || last);
    if (points.length > MOST_POINTS) points.shift();
    history.set(app.name, points);
  }
}

function summary() {
  const engine = live.engine, parts = [si(engine.pps, "pps"), si(engine.bits, "bit/s"),
    Math.round(100 * engine.load) + " % CPU"];
  byId("summary").textContent = parts.join(", ");
  const e = live.expected;
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
  byId("picture").querySelectorAll("g.link").forEach(showLink);
  byId("picture").querySelectorAll("g.app").forEach(showApp);
  byId("picture").querySelectorAll("g.region").forEach(showRegion);
  remember();
  summary();
  if (chosen) fillNumbers();
}

// Details --------------------------------------------------------------------

function choose(kind, name) {
  chosen = {kind, name};
  for (const g of byId("picture").querySelectorAll(".chosen, .traced"))
    g.classList.remove("chosen", "traced");
  find(kind, name).classList.add("chosen");
  const detail = byId("detail");
  detail.replaceChildren(element("h2", name));
  const numbers = element("div");
  numbers.id = "numbers";
  const filter = element("input");
  filter.id = "filter";
  filter.placeholder = "filter, such as: udp and port 53";
  detail.append(numbers, filter, ...buttons(kind, name));
  const found = element("div");
  found.id = "found";
  detail.append(found);
  if (live) fillNumbers();
  if (kind === "link") showPackets({link: name});
}

function button(title, act) {
  const b = element("button", title);
  b.addEventListener("click", async () => {
    b.disabled = true;
    try { await act(); } catch (error) { say(error.message); }
    b.disabled = false;
  });
  return b;
}

function buttons(kind, name) {
  const what = {[kind]: name};
  const app = kind === "app" ? name : graph.links.find(l => l.link === name).to;
  const list = [button("Packets", () => showPackets(what)),
    button("Trace", () => showTraces(app)), button("Capture", () => save(what, name))];
  if (kind === "app")
    list.push(button("Dropped", () => showPackets({dropped: true, app: name})));
  return list;
}

function fillNumbers() {
  const place = byId("numbers");
  if (!place) return;
  if (chosen.kind === "link") {
    const now = live.links[chosen.name];
    return place.replaceChildren(now ? table([["packets a second", count(now.pps)],
      ["on the wire", si(now.bits, "bit/s")], ["packets", count(now.packets)],
      ["waiting", count(now.waiting)],
      ["dropped, as it was full", count(now.dropped), now.dropped > 0]]) : "");
  }
  const app = appOf(chosen.name), now = live.apps[chosen.name] || {};
  const rows = app.class ? [["class", app.class]] : [];
  if (app.port) rows.push(["port", app.port]);
  if (app.cpu !== undefined) rows.push(["CPU", app.cpu]);
  rows.push(app.region ? ["fused", "region " + app.region]
    : ["not fused", app.why || ""]);
  const cost = costOf(chosen.name);
  if (cost !== null)
    rows.push([(app.region ? "its region" : "it") + " takes",
      cost.toFixed(1) + " cycles a packet"]);
  const parts = [table(rows)];
  if ((now.drops || []).length) parts.push(element("h3", "Drops"),
    table(now.drops.map(d => [d.reason, count(d.packets) + " (" + si(d.pps) + "/s)",
      d.pps > 0])));
  if ((now.counters || []).length) parts.push(element("h3", "Counters"),
    table(now.counters.map(c => [c.name, count(c.value) + " (" + si(c.pps) + "/s)"])));
  parts.push(element("h3", "Cycles a packet over time"),
    chart(history.get(chosen.name) || []));
  place.replaceChildren(...parts);
}

function say(...parts) {
  const place = byId("found");
  if (place) place.replaceChildren(...parts);
}

function packetView(packet) {
  const view = element("details");
  view.className = "packet";
  view.append(element("summary", packet.text
    + (packet.comment ? " (" + packet.comment + ")" : "")));
  for (const header of Object.values(packet.headers || {})) {
    view.append(element("h3", header.name));
    view.append(table(Object.values(header.fields || {})));
  }
  return view;
}

const filterText = () => byId("filter").value;

async function showPackets(what) {
  const wanted = chosen;
  say(element("p", "waiting for packets ...", "hint"));
  const {packets} = await ask("packets", {...what, filter: filterText()})
    .catch(error => ({packets: error.message}));
  if (chosen !== wanted) return;
  if (typeof packets === "string") return say(packets);
  say(element("h3", packets ? "Last packets" : "No packet came within 1.5 s."),
    ...(packets || []).map(packetView));
}

function showWay(links) {
  for (const g of byId("picture").querySelectorAll(".traced"))
    g.classList.remove("traced");
  for (const link of links) {
    const g = find("link", link);
    if (g) g.classList.add("traced");
  }
}

async function showTraces(app) {
  const wanted = chosen;
  say(element("p", "waiting for packets ...", "hint"));
  const {traces} = await ask("trace", {app, filter: filterText()});
  if (chosen !== wanted) return;
  if (!traces) return say(element("p", "No packet came within 3 s."));
  say(element("h3", "Ways of packets"), ...traces.map(trace => {
    const way = element("pre", trace.text, "way");
    way.addEventListener("click", () => showWay(trace.links));
    return way;
  }));
  showWay(traces[0].links);
}

async function save(what, name) {
  say(element("p", "capturing for up to 3 s ...", "hint"));
  const answer = await post("capture",
    {instance: String(instance), ...what, filter: filterText()});
  const url = URL.createObjectURL(await answer.blob());
  const anchor = element("a", "saved");
  anchor.href = url;
  anchor.download = name.replace(/[^\w.-]+/g, "_") + ".pcapng";
  anchor.click();
  say(anchor);
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

// Going on -------------------------------------------------------------------

async function loadInstances() {
  const {instances, only} = await (await post("instances")).json();
  const select = byId("instances");
  const wanted = instance;
  select.replaceChildren(...(instances || []).map(i => {
    const option = element("option", (i.name || i.program) + " (" + i.pid + ")");
    option.value = i.pid;
    return option;
  }));
  select.hidden = only !== undefined;
  instance = only !== undefined ? only
    : (instances || []).some(i => String(i.pid) === String(wanted)) ? wanted
    : instances && instances[0].pid;
  if (!instance) throw new Error("no instance of Perigee runs");
  if (only === undefined) select.value = instance;
}

async function loadGraph() {
  graph = await ask("graph");
  for (const key of ["apps", "links", "regions"])
    if (!Array.isArray(graph[key])) graph[key] = [];
  document.title = (graph.name || graph.program) + " - Perigee";
  history = new Map();
  draw();
  if (chosen && find(chosen.kind, chosen.name))
    find(chosen.kind, chosen.name).classList.add("chosen");
  else chosen = null;
}

async function step() {
  if (!graph) {
    await loadInstances();
    await loadGraph();
  }
  const now = await ask("live");
  const changed = now.pid !== graph.pid
    || live && now.engine.configs !== live.engine.configs;
  live = now;
  if (changed) await loadGraph();
  show();
  tellProblem("");
}

async function run() {
  try { await step(); } catch (error) {
    tellProblem(error.message === "Failed to fetch"
      ? "`perigee web` doesn't answer any more" : error.message);
    graph = null;
  }
  setTimeout(run, PERIOD_MS);
}

byId("instances").addEventListener("change", event => {
  instance = event.target.value;
  graph = live = chosen = null;
});
run();
