// SPDX-License-Identifier: Apache-2.0
// Packets of what is chosen: live, decoded; their ways; captures.

import {byId, button, element, table} from "./elements.js";
import {showWay} from "./picture.js";
import {ask, post} from "./server.js";
import {state} from "./state.js";

const MOST = 50;        // packets that are shown
const PAUSE_MS = 500;   // between two looks at the link

let look = null; // the one that goes on: another look, capture or trace ends it

export function stopLooking() { look = null; }

function say(...parts) {
  const place = byId("found");
  if (place) place.replaceChildren(...parts);
}

const filterText = () => byId("filter").value;
const wait = ms => new Promise(resolve => setTimeout(resolve, ms));

function packetView(packet) {
  const view = element("details", undefined, "packet");
  view.append(element("summary", packet.text
    + (packet.comment ? " (" + packet.comment + ")" : "")));
  for (const header of Object.values(packet.headers || {})) {
    view.append(element("h4", header.name));
    view.append(table(Object.values(header.fields || {})));
  }
  return view;
}

// Begin something in the place of what was: {isNow() = does it still go on?}.
function begin(sentence) {
  const own = look = {};
  say(element("p", sentence, "hint"));
  return () => look === own;
}

const failed = (isNow, error) => { if (isNow()) say(element("p", error.message)); };

// Packets as they come, until something else is looked at.
async function showPackets(what) {
  const isNow = begin("waiting for packets …");
  const head = element("div", undefined, "row"), list = element("div");
  const title = element("h3", "Packets, live");
  let isPaused = false;
  const pause = button("Pause", () => {
    isPaused = !isPaused;
    pause.textContent = isPaused ? "Go on" : "Pause";
  });
  head.append(title, pause);
  try {
    while (isNow()) {
      if (!isPaused) {
        const {packets} = await ask("packets", {...what, filter: filterText()});
        if (!isNow()) return;
        if (!head.isConnected) say(head, list);
        title.textContent = packets ? "Packets, live"
          : list.children.length ? "Packets, live (none came now)"
          : "No packet came within 1.5 s.";
        if (!isPaused) list.prepend(...(packets || []).reverse().map(packetView));
        while (list.children.length > MOST) list.lastChild.remove();
      }
      await wait(PAUSE_MS);
    }
  } catch (error) { failed(isNow, error); }
}

async function showTraces(app) {
  const isNow = begin("waiting for packets …");
  try {
    const {traces} = await ask("trace", {app, filter: filterText()});
    if (!isNow()) return;
    if (!traces) return say(element("p", "No packet came within 3 s."));
    say(element("h3", "Ways of packets"), ...traces.map(trace => {
      const way = button(trace.text, () => showWay(trace.links));
      way.className = "way";
      return way;
    }));
    showWay(traces[0].links);
  } catch (error) { failed(isNow, error); }
}

async function save(what, name) {
  const isNow = begin("capturing for up to 3 s …");
  try {
    const answer = await post("capture",
      {instance: String(state.instance), ...what, filter: filterText()});
    const url = URL.createObjectURL(await answer.blob());
    const anchor = element("a", "saved");
    anchor.href = url;
    anchor.download = name.replace(/[^\w.-]+/g, "_") + ".pcapng";
    anchor.click();
    if (isNow()) say(anchor);
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  } catch (error) { failed(isNow, error); }
}

// The parts of the details that show packets of the link or the app.
export function packetParts(kind, name) {
  const what = {[kind]: name};
  const link = kind === "link" && state.graph.links.find(l => l.link === name);
  const filter = element("input");
  filter.id = "filter";
  filter.placeholder = "filter, such as: udp and port 53";
  filter.setAttribute("aria-label", "filter of packets (pcap-filter)");
  filter.addEventListener("keydown", event => {
    if (event.key === "Enter") showPackets(what);
  });
  const row = element("div", undefined, "row");
  row.append(button("Packets", () => showPackets(what)),
    button("Trace", () => showTraces(link ? link.to : name)),
    button("Capture", () => save(what, name)));
  if (kind === "app")
    row.append(button("Dropped", () => showPackets({dropped: true, app: name})));
  const found = element("div");
  found.id = "found";
  return {parts: [filter, row, found], begin: () => showPackets(what)};
}
