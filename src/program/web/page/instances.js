// SPDX-License-Identifier: Apache-2.0
// The list of running instances, with their load and health.

import {byId, element, keep, si} from "./elements.js";
import {post} from "./server.js";
import {state} from "./state.js";

let name = null;   // of the instance that is shown
let picked = null; // the process id of the one that the user has chosen

const nameOf = i => i.name || i.program;

function make(item) {
  const b = element("button", undefined, "instance");
  b.append(element("b", nameOf(item)), element("span", "", "rates"),
    element("span", "", "health"));
  b.addEventListener("click", () => {
    picked = item.pid;
    item.open(item.pid);
  });
  return b;
}

function update(b, item) {
  b.setAttribute("aria-current", String(item.pid === Number(state.instance)));
  b.title = item.program + ", process " + item.pid;
  b.querySelector(".rates").textContent = item.pps === undefined ? String(item.pid)
    : si(item.pps, "pps") + ", " + Math.round(100 * item.load) + " % CPU";
  const health = b.querySelector(".health");
  health.textContent = item.why;
  health.className = "health " + item.health;
}

// The one to show: that which the user chose, or which was shown, or the next of its
// name, or the first that is well and has a graph to look into.
function best(list) {
  const shown = list.find(i => i.pid === Number(state.instance));
  return list.find(i => i.pid === picked) || shown && shown.control && shown
    || list.find(i => name && nameOf(i) === name && i.control)
    || list.find(i => i.control && i.health === "good")
    || list.find(i => i.control) || shown || list[0];
}

// Ask for the list, show it, and say which instance is to be shown (state.instance).
// A click on one calls open(pid).
export async function loadInstances(open) {
  const answer = await (await post("instances")).json();
  const list = answer.instances || [];
  const isOne = answer.only !== undefined;
  byId("instances").hidden = isOne || byId("list").getAttribute("aria-expanded") !== "true";
  byId("list").hidden = isOne;
  if (isOne) return void (state.instance = answer.only);
  const one = best(list);
  if (one) name = nameOf(one);
  state.instance = one && one.pid;
  keep(byId("instances"), list.map(i => ({...i, key: i.pid, open})), make, update);
  if (!one) throw new Error("no instance of Perigee runs: the first that starts is shown");
}
