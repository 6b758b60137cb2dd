// SPDX-License-Identifier: Apache-2.0
// The picture, which the server has drawn: rates, drops and cycles are written into it.

import {byId, si} from "./elements.js";
import {appOf, costOf, dropsOf, state} from "./state.js";

export const find = (kind, name) => [...byId("picture").querySelectorAll("g." + kind)]
  .find(g => g.dataset[kind] === String(name));

// Clicks call choose(kind, name).
export function draw(choose) {
  const picture = new DOMParser().parseFromString(state.graph.svg, "image/svg+xml")
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

function showLink(g) {
  const now = state.live.links[g.dataset.link];
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
  const region = state.graph.regions[g.dataset.region - 1];
  const cost = costOf(region.apps[0]);
  g.querySelector(".title").textContent = "region " + region.number
    + (region.cpu !== undefined ? ", CPU " + region.cpu : "")
    + (cost !== null ? ": " + cost.toFixed(1) + " cycles a packet" : "");
}

export function showRates() {
  byId("picture").querySelectorAll("g.link").forEach(showLink);
  byId("picture").querySelectorAll("g.app").forEach(showApp);
  byId("picture").querySelectorAll("g.region").forEach(showRegion);
}

// Mark the links that a packet has passed.
export function showWay(links) {
  for (const g of byId("picture").querySelectorAll(".traced"))
    g.classList.remove("traced");
  for (const link of links) {
    const g = find("link", link);
    if (g) g.classList.add("traced");
  }
}
