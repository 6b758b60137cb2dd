// SPDX-License-Identifier: Apache-2.0
// What the page knows of the graph, for all its modules, and what follows from that.

export const NOTHING = {apps: [], links: [], regions: [], compounds: []};

export const state = {
  graph: NOTHING,    // what the server told of the graph last
  live: null,        // what it does now
  instance: null,    // its process id, or the name that the server was started with
  chosen: null,      // {kind: "link" or "app", name}
  folded: new Set(), // compounds that are shown as one box
  history: null,     // of ten minutes: {last, times, pps, ...}
};

export const appOf = name => state.graph.apps.find(app => app.name === name);

export const compoundOf = name =>
  state.folded.has(name) && state.graph.compounds.find(c => c.name === name);

// The compounds that the app is in, the outermost first.
export const compoundsAround = name =>
  state.graph.compounds.filter(c => c.apps.includes(name));

// The name of the box in which the app is shown: its own, or a compound's.
export function shownAs(name) {
  const outer = compoundsAround(name).find(c => state.folded.has(c.name));
  return outer ? outer.name : name;
}

// Cycles of a packet that the app's own loop takes, or its region's.
export function costOf(name) {
  const region = appOf(name) && appOf(name).region;
  const names = region ? state.graph.regions[region - 1].apps : [name];
  const tasks = (state.live.cycles || [])
    .filter(c => names.includes(c.app) && c.cycles !== undefined);
  if (!tasks.length) return null;
  return tasks.reduce((sum, task) => sum + task.cycles, 0);
}

// The name that the cycles of the app's loop have in the history.
export function costName(name) {
  const region = appOf(name) && appOf(name).region;
  const names = region ? state.graph.regions[region - 1].apps : [name];
  const task = (state.live.cycles || []).find(c => names.includes(c.app));
  return "cycles:" + (task ? task.app : name);
}

// Drops a second of an app, or of all in a compound.
export function dropsOf(name) {
  const compound = compoundOf(name);
  return (compound ? compound.apps : [name]).reduce((sum, app) =>
    ((state.live.apps[app] || {}).drops || []).reduce((n, drop) => n + drop.pps, sum), 0);
}

// All drops of the instance, the busiest first: {kind, name, reason, packets, pps}.
export function allDrops() {
  const list = [];
  for (const [name, app] of Object.entries(state.live.apps))
    for (const drop of app.drops || [])
      list.push({kind: "app", name, ...drop});
  for (const [name, link] of Object.entries(state.live.links))
    if (link.dropped > 0) list.push({kind: "link", name, reason: "link full",
      packets: link.dropped, pps: link.drops});
  return list.sort((a, b) => b.pps - a.pps || b.packets - a.packets);
}
