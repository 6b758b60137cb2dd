// SPDX-License-Identifier: Apache-2.0
// What stands beside the picture: numbers of the link or the app that is chosen, its
// packets, their ways, and captures.

import {byId, chart, count, element, si, table} from "./elements.js";
import {find, showWay} from "./picture.js";
import {ask, post} from "./server.js";
import {appOf, costOf, state} from "./state.js";

export function choose(kind, name) {
  state.chosen = {kind, name};
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
  if (state.live) fillNumbers();
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
  const app = kind === "app" ? name : state.graph.links.find(l => l.link === name).to;
  const list = [button("Packets", () => showPackets(what)),
    button("Trace", () => showTraces(app)), button("Capture", () => save(what, name))];
  if (kind === "app")
    list.push(button("Dropped", () => showPackets({dropped: true, app: name})));
  return list;
}

export function fillNumbers() {
  const place = byId("numbers");
  if (!place) return;
  if (state.chosen.kind === "link") {
    const now = state.live.links[state.chosen.name];
    return place.replaceChildren(now ? table([["packets a second", count(now.pps)],
      ["on the wire", si(now.bits, "bit/s")], ["packets", count(now.packets)],
      ["waiting", count(now.waiting)],
      ["dropped, as it was full", count(now.dropped), now.dropped > 0]]) : "");
  }
  const app = appOf(state.chosen.name), now = state.live.apps[state.chosen.name] || {};
  const rows = app.class ? [["class", app.class]] : [];
  if (app.port) rows.push(["port", app.port]);
  if (app.cpu !== undefined) rows.push(["CPU", app.cpu]);
  rows.push(app.region ? ["fused", "region " + app.region]
    : ["not fused", app.why || ""]);
  const cost = costOf(state.chosen.name);
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
    chart(state.history.get(state.chosen.name) || []));
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
  const wanted = state.chosen;
  say(element("p", "waiting for packets ...", "hint"));
  const {packets} = await ask("packets", {...what, filter: filterText()})
    .catch(error => ({packets: error.message}));
  if (state.chosen !== wanted) return;
  if (typeof packets === "string") return say(packets);
  say(element("h3", packets ? "Last packets" : "No packet came within 1.5 s."),
    ...(packets || []).map(packetView));
}

async function showTraces(app) {
  const wanted = state.chosen;
  say(element("p", "waiting for packets ...", "hint"));
  const {traces} = await ask("trace", {app, filter: filterText()});
  if (state.chosen !== wanted) return;
  if (!traces) return say(element("p", "No packet came within 3 s."));
  say(element("h3", "Ways of packets"), ...traces.map(trace => {
    const way = element("pre", trace.text, "way");
    way.addEventListener("click", () => showWay(trace.links));
    return way;
  }));
  showWay(traces[0].links);
}

async function save(what, name) {
  const wanted = state.chosen;
  say(element("p", "capturing for up to 3 s ...", "hint"));
  const answer = await post("capture",
    {instance: String(state.instance), ...what, filter: filterText()});
  const url = URL.createObjectURL(await answer.blob());
  const anchor = element("a", "saved");
  anchor.href = url;
  anchor.download = name.replace(/[^\w.-]+/g, "_") + ".pcapng";
  anchor.click();
  if (state.chosen === wanted) say(anchor);
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}
