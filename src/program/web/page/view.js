// SPDX-License-Identifier: Apache-2.0
// What part of the picture is seen: fit, zoom, pan, by mouse, fingers and keys.

import {byId} from "./elements.js";

const MARGIN = 8, STEP = 1.25, LEAST = 0.05, MOST = 4; // pixels a unit of the picture
const FAR = 0.5;  // below it names alone are shown
const READABLE = 0.45; // no smaller at first: of a long graph its beginning is shown
const MOVED = 4;  // pixels: less is a click

let svg = null, whole = null; // the picture, and its size
let view = {x: 0, y: 0, scale: 1}; // what is at the window's corner, and how large
let isFitted = true;

function show() {
  if (!svg) return;
  const place = byId("picture");
  svg.setAttribute("viewBox", [view.x, view.y, place.clientWidth / view.scale,
    place.clientHeight / view.scale].join(" "));
  svg.classList.toggle("far", view.scale < FAR);
}

// The first coordinate that is seen: the middle in the window, or what is longer than it
// from its beginning.
const begin = (length, window) => Math.max(0, window - length) / -2
  - (length > window ? MARGIN : 0);

// Show all, as large as it fits but no larger than it is, and no smaller than `least`.
function fitTo(least) {
  if (!svg) return;
  const place = byId("picture");
  const width = place.clientWidth - 2 * MARGIN, height = place.clientHeight - 2 * MARGIN;
  const scale = Math.max(least, Math.min(1.2, width / whole.width, height / whole.height));
  view = {scale, x: begin(whole.width, place.clientWidth / scale),
    y: begin(whole.height, place.clientHeight / scale)};
  isFitted = true;
  show();
}

const fit = () => fitTo(0);

// Zoom, while the point (x, y) of the window stays where it is.
function zoom(factor, x, y) {
  const place = byId("picture");
  x = x === undefined ? place.clientWidth / 2 : x;
  y = y === undefined ? place.clientHeight / 2 : y;
  const scale = Math.min(MOST, Math.max(Math.min(LEAST, view.scale), view.scale * factor));
  view = {scale, x: view.x + x / view.scale - x / scale,
    y: view.y + y / view.scale - y / scale};
  isFitted = false;
  show();
}

function pan(dx, dy) {
  view = {...view, x: view.x - dx / view.scale, y: view.y - dy / view.scale};
  isFitted = false;
  show();
}

export function setPicture(picture) {
  const before = whole;
  svg = picture;
  whole = {width: Number(svg.getAttribute("width")),
    height: Number(svg.getAttribute("height"))};
  svg.setAttribute("width", "100%");
  svg.setAttribute("height", "100%");
  const isSame = before && before.width === whole.width && before.height === whole.height;
  if (isFitted || !isSame) fitTo(READABLE); else show();
}

// Bring an element of the picture into the window, large enough to be read if `close`.
export function bring(g, close) {
  const place = byId("picture").getBoundingClientRect();
  if (close && view.scale < 0.8) zoom(0.9 / view.scale);
  const box = g.getBoundingClientRect();
  const isSeen = box.left >= place.left && box.right <= place.right
    && box.top >= place.top && box.bottom <= place.bottom;
  if (!isSeen) pan(place.left + place.width / 2 - box.left - box.width / 2,
    place.top + place.height / 2 - box.top - box.height / 2);
}

const KEYS = {
  "+": () => zoom(STEP), "=": () => zoom(STEP), "-": () => zoom(1 / STEP), "0": fit,
  ArrowLeft: () => pan(60, 0), ArrowRight: () => pan(-60, 0),
  ArrowUp: () => pan(0, 60), ArrowDown: () => pan(0, -60),
};

function listenToPointers(place) {
  const down = new Map(); // pointers, where they are
  let moved = 0;
  const spread = () => {
    const [a, b] = [...down.values()];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  place.addEventListener("pointerdown", event => {
    if (!down.size) moved = 0;
    down.set(event.pointerId, {x: event.clientX, y: event.clientY});
  });
  place.addEventListener("pointermove", event => {
    const before = down.get(event.pointerId);
    if (!before) return;
    const wide = down.size === 2 && spread();
    const dx = event.clientX - before.x, dy = event.clientY - before.y;
    down.set(event.pointerId, {x: event.clientX, y: event.clientY});
    moved += Math.hypot(dx, dy);
    if (moved < MOVED) return;
    place.setPointerCapture(event.pointerId);
    const box = place.getBoundingClientRect();
    if (wide) zoom(spread() / Math.max(wide, 1), event.clientX - box.left,
      event.clientY - box.top);
    else if (down.size === 1) pan(dx, dy);
  });
  for (const kind of ["pointerup", "pointercancel", "pointerleave"])
    place.addEventListener(kind, event => down.delete(event.pointerId));
  // What ends a pan is no click on what lies there.
  place.addEventListener("click", event => {
    if (moved >= MOVED) event.stopPropagation();
  }, true);
  place.addEventListener("wheel", event => {
    event.preventDefault();
    const box = place.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)),
      event.clientX - box.left, event.clientY - box.top);
  }, {passive: false});
}

export function start() {
  const place = byId("picture");
  listenToPointers(place);
  place.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  byId("in").addEventListener("click", () => zoom(STEP));
  byId("out").addEventListener("click", () => zoom(1 / STEP));
  byId("fit").addEventListener("click", fit);
  new ResizeObserver(() => isFitted ? fitTo(READABLE) : show()).observe(place);
}
