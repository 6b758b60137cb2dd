// SPDX-License-Identifier: Apache-2.0
// What the page knows of the graph, for all its modules, and what follows from that.

export const state = {
  graph: null,    // what the server told of the graph last
  live: null,     // what it does now
  instance: null,
  chosen: null,   // {kind: "link" or "app", name}
  history: new Map(), // cycles of a packet by app or region, over time
};

export const appOf = name => state.graph.apps.find(app => app.name === name);

// Cycles of a packet that the app's own loop takes, or its region's.
export function costOf(name) {
  const region = appOf(name) && appOf(name).region;
  const names = region ? state.graph.regions[region - 1].apps : [name];
  const tasks = (state.live.cycles || [])
    .filter(c => names.includes(c.app) && c.cycles !== undefined);
  if (!tasks.length) return null;
  return tasks.reduce((sum, task) => sum + task.cycles, 0);
}

export const dropsOf = name =>
  ((state.live.apps[name] || {}).drops || []).reduce((sum, drop) => sum + drop.pps, 0);
