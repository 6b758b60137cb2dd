// SPDX-License-Identifier: Apache-2.0
// The picture, which the server has drawn: rates, drops and cycles are written into it.

import {byId, element, si} from "./elements.js";
import {appOf, compoundOf, costOf, dropsOf, shownAs, state} from "./state.js";
import {bring, setPicture} from "./view.js";

const TITLE_EDGE = 8; // pixels, left and right of a region's title

export const find = (kind, name) => [...byId("picture").querySelectorAll("g." + kind)]
  .find(g => g.dataset[kind] === String(name));

// The box of an app, or of the compound in which it is; a link.
export const findShown = (kind, name) =>
  find(kind, kind === "app" ? shownAs(name) : name);

// Its name for those who don't see it: what it is, and what is written there.
function label(g, kind, name) {
  const text = [...g.querySelectorAll("text")]
    .filter(t => t.textContent && getComputedStyle(t).display !== "none")
    .map(t => t.textContent).join(" ");
  const wanted = (compoundOf(name) ? "compound" : kind) + " " + name
    + (text ? ": " + text : "");
  if (g.getAttribute("aria-label") !== wanted) g.setAttribute("aria-label", wanted);
}

function prepare(g, kind, choose) {
  const name = g.dataset[kind];
  g.setAttribute("tabindex", "0");
  g.setAttribute("role", "button");
  label(g, kind, name);
  g.addEventListener("click", () => choose(kind, name));
  g.addEventListener("focus", () => {
    if (g.matches(":focus-visible")) bring(g);
  });
  g.addEventListener("keydown", event => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose(kind, name);
  });
}

// Clicks call choose(kind, name).
export function draw(choose) {
  if (!state.graph.svg) {
    byId("picture").replaceChildren(element("p", state.graph.why, "hint"));
    return;
  }
  const picture = document.importNode(new DOMParser()
    .parseFromString(state.graph.svg, "image/svg+xml").documentElement, true);
  byId("picture").replaceChildren(picture);
  for (const kind of ["app", "link"])
    for (const g of byId("picture").querySelectorAll("g." + kind))
      prepare(g, kind, choose);
  setPicture(picture);
}

function showLink(g) {
  const now = state.live.links[g.dataset.link];
  if (!now) return;
  g.querySelector(".rate").textContent = si(now.pps);
  g.classList.toggle("idle", now.pps === 0);
  g.classList.toggle("full", now.drops > 0);
  g.querySelector(".line").style.strokeWidth = 1 + Math.log10(1 + now.pps) / 3;
  label(g, "link", g.dataset.link);
}

function showApp(g) {
  const name = g.dataset.app;
  const drops = dropsOf(name), cost = costOf(name);
  const inRegion = appOf(name) && appOf(name).region;
  g.classList.toggle("drops", drops > 0);
  g.querySelector(".live").textContent = drops > 0 ? si(drops) + " drops/s"
    : cost !== null && !inRegion ? cost.toFixed(1) + " cycles" : "";
  label(g, "app", name);
}

function showRegion(g) {
  const region = state.graph.regions[g.dataset.region - 1];
  const cost = costOf(region.apps[0]), title = g.querySelector(".title");
  const name = "region " + region.number
    + (region.cpu !== undefined ? ", CPU " + region.cpu : "");
  const cycles = cost !== null ? cost.toFixed(1) + " cycles a packet" : "";
  const width = g.querySelector("rect").width.baseVal.value;
  const short = cost !== null ? cost.toFixed(1) + " cycles" : name;
  // Where packets go down, links are in the middle.
  const middle = g.closest("svg").dataset.down ? width / 2 : width;
  for (const [text, end] of [[name + (cycles && ": " + cycles), middle],
    [cycles || name, middle], [short, width]]) {
    title.textContent = text;
    if (title.getComputedTextLength() <= end - 2 * TITLE_EDGE) return;
  }
  title.textContent = cost !== null ? cost.toFixed(1) : String(region.number);
}

export function showRates() {
  byId("picture").querySelectorAll("g.link").forEach(showLink);
  byId("picture").querySelectorAll("g.app").forEach(showApp);
  byId("picture").querySelectorAll("g.region").forEach(showRegion);
}

// Mark what is chosen.
export function markChosen() {
  for (const g of byId("picture").querySelectorAll(".chosen, .traced"))
    g.classList.remove("chosen", "traced");
  const g = state.chosen && findShown(state.chosen.kind, state.chosen.name);
  if (g) g.classList.add("chosen");
  return g;
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
