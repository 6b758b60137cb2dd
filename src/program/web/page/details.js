// SPDX-License-Identifier: Apache-2.0
// What stands beside the picture: the numbers of the link, the app or the compound that
// is chosen, and its packets.

import {byId, button, count, element, si, table} from "./elements.js";
import {chart} from "./charts.js";
import {packetParts, stopLooking} from "./packets.js";
import {markChosen} from "./picture.js";
import {appOf, compoundOf, compoundsAround, costName, costOf, state} from "./state.js";

let charts = []; // of what is chosen: {name = in the history, draw}

// Names of the history that are wanted for what is chosen.
export const wantedSeries = () => charts.map(c => c.name);

function addChart(place, name, options) {
  const one = chart(options);
  charts.push({name, ...one});
  place.append(one.figure);
}

// `acts`: overview() and fold(name, isFolded).
export function showDetails(kind, name, acts) {
  state.chosen = {kind, name};
  stopLooking();
  markChosen();
  charts = [];
  const detail = byId("detail"), head = element("div", undefined, "row");
  head.append(element("h2", name), button("Overview", acts.overview));
  const numbers = element("div"), plots = element("div");
  numbers.id = "numbers";
  detail.replaceChildren(head, numbers, plots);
  detail.scrollTop = 0;
  const compound = kind === "app" && compoundOf(name);
  if (compound) {
    head.append(button("Unfold", () => acts.fold(name, false)));
  } else {
    if (kind === "app")
      for (const around of compoundsAround(name))
        head.append(button("Fold " + around.name, () => acts.fold(around.name, true)));
    if (kind === "link")
      addChart(plots, "link:" + name, {title: "Packets a second", show: x => si(x)});
    else {
      if (state.live) addChart(plots, costName(name), {title: "Cycles a packet",
        show: x => x.toFixed(1)});
      addChart(plots, "drops:" + name, {title: "Drops a second", show: x => si(x),
        bad: true});
    }
    const {parts, begin} = packetParts(kind, name);
    detail.append(...parts);
    if (kind === "link") begin();
  }
  fillDetails();
}

function linkNumbers(now) {
  return now ? [table([["packets a second", count(now.pps)],
    ["on the wire", si(now.bits, "bit/s")], ["packets", count(now.packets)],
    ["waiting", count(now.waiting)],
    ["dropped, as it was full", count(now.dropped), now.dropped > 0]])] : [];
}

function compoundNumbers(compound) {
  return [table(compound.apps.map(name => {
    const drops = ((state.live.apps[name] || {}).drops || [])
      .reduce((sum, drop) => sum + drop.pps, 0);
    return [name, drops ? si(drops) + " drops/s" : "", drops > 0];
  }))];
}

function appNumbers(name, app) {
  const now = state.live.apps[name] || {};
  const rows = app.class ? [["class", app.class]] : [];
  if (app.port) rows.push(["port", app.port]);
  if (app.cpu !== undefined) rows.push(["CPU", app.cpu]);
  rows.push(app.region ? ["fused", "region " + app.region]
    : ["not fused", app.why || ""]);
  const cost = costOf(name);
  if (cost !== null)
    rows.push([(app.region ? "its region" : "it") + " takes",
      cost.toFixed(1) + " cycles a packet"]);
  const parts = [table(rows)];
  if ((now.drops || []).length) parts.push(element("h3", "Drops"),
    table(now.drops.map(d => [d.reason, count(d.packets) + " (" + si(d.pps) + "/s)",
      d.pps > 0])));
  if ((now.counters || []).length) parts.push(element("h3", "Counters"),
    table(now.counters.map(c => [c.name, count(c.value) + " (" + si(c.pps) + "/s)"])));
  return parts;
}

export function fillDetails() {
  const place = byId("numbers");
  if (!place || !state.live) return;
  const {kind, name} = state.chosen;
  const compound = kind === "app" && compoundOf(name);
  place.replaceChildren(...(kind === "link" ? linkNumbers(state.live.links[name])
    : compound ? compoundNumbers(compound) : appNumbers(name, appOf(name) || {})));
  const more = state.history && state.history.more;
  for (const c of charts) {
    const values = more && more[c.name];
    c.figure.hidden = !values || values.every(x => x === null);
    if (values) c.draw(state.history.times.slice(-values.length), [values]);
  }
}

export function forgetDetails() { charts = []; }
