// SPDX-License-Identifier: Apache-2.0
// What stands beside the picture as long as nothing is chosen: what a packet costs, and
// drops by reason, which lead to their place in the picture.

import {byId, button, count, element, keep, si} from "./elements.js";
import {forgetDetails} from "./details.js";
import {stopLooking} from "./packets.js";
import {markChosen} from "./picture.js";
import {allDrops, state} from "./state.js";

let open = null; // open(kind, name): show that place

function skeleton() {
  const drops = element("table");
  drops.id = "drops";
  drops.hidden = true;
  const head = drops.createTHead().insertRow();
  for (const [title, name] of [["where", ""], ["reason", ""], ["packets", "number"],
    ["a second", "number"]]) {
    const cell = element("th", title, name);
    cell.scope = "col";
    head.append(cell);
  }
  drops.createTBody();
  const none = element("p", "", "hint");
  none.id = "no-drops";
  const cost = element("p", "");
  cost.id = "cost";
  byId("detail").replaceChildren(element("h2", "Overview"), cost,
    element("h3", "Drops by reason"), drops, none,
    element("p", "Choose a link to see its packets, or an app for its counters and its "
      + "cost.", "hint"));
}

// Show it; open(kind, name) is called for a drop that is chosen.
export function showOverview(openPlace) {
  open = openPlace || open;
  state.chosen = null;
  stopLooking();
  forgetDetails();
  markChosen();
  skeleton();
  fillOverview();
}

function makeRow(drop) {
  const row = element("tr"), where = element("td");
  where.append(button(drop.name, () => open(drop.kind, drop.name)));
  row.append(where, element("td", drop.reason), element("td", "", "number"),
    element("td", "", "number"));
  return row;
}

function updateRow(row, drop) {
  row.className = drop.pps > 0 ? "bad" : "";
  row.cells[2].textContent = count(drop.packets);
  row.cells[3].textContent = si(drop.pps);
}

function fillCost() {
  const e = state.live.expected;
  if (!e) return byId("cost").textContent = "";
  const tell = p => `${p.cycles.toFixed(1)} cycles a packet (receive `
    + `${p.receive.toFixed(1)}, apps ${p.task.toFixed(1)}, send ${p.send.toFixed(1)}, `
    + `engine ${p.engine.toFixed(1)})`;
  byId("cost").textContent = "measured: " + tell(e.measured) + ", which allow "
    + si(e.allowed, "pps") + " a CPU"
    + (e.predicted ? "; predicted: " + tell(e.predicted) : "");
  byId("cost").title = e.why ? "no prediction: " + e.why : "";
}

export function fillOverview() {
  if (!byId("drops") || !state.live) return;
  fillCost();
  const drops = allDrops().map(d => ({...d, key: [d.kind, d.name, d.reason].join("|")}));
  byId("drops").hidden = !drops.length;
  byId("no-drops").textContent = drops.length ? "" : "Nothing has been dropped.";
  keep(byId("drops").tBodies[0], drops, makeRow, updateRow);
}
