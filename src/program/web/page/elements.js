// SPDX-License-Identifier: Apache-2.0
// Elements of the page. What comes from outside is only ever set as text.

export const byId = id => document.getElementById(id);

export function element(name, content, className) {
  const e = document.createElement(name);
  if (content !== undefined) e.textContent = content;
  if (className) e.className = className;
  return e;
}

export function si(n, unit) {
  if (!n) return "0" + (unit ? " " + unit : "");
  const scale = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]]
    .find(([size]) => n >= size * 0.9995) || [1, ""];
  const value = n / scale[0];
  const digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return value.toFixed(scale[0] === 1 && digits ? 1 : digits) + (unit ? " " : "")
    + scale[1] + (unit || "");
}

export const count = n => Math.round(n).toLocaleString("en");

export function seconds(s) {
  if (s >= 1) return s.toFixed(2) + " s";
  return s >= 1e-3 ? (s * 1e3).toFixed(1) + " ms" : (s * 1e6).toFixed(1) + " µs";
}

export function button(title, act) {
  const b = element("button", title);
  b.addEventListener("click", act);
  return b;
}

export function table(rows) {
  const t = element("table");
  for (const [name, value, bad] of rows) {
    const row = t.insertRow();
    if (bad) row.className = "bad";
    row.insertCell().textContent = name;
    const cell = row.insertCell();
    cell.textContent = value;
    cell.className = "number";
  }
  return t;
}

// Make the children of `place` those of `items`, in order: make(item) makes one, and
// update(child, item) sets what it shows. Items have keys; what has one keeps its child,
// and with it the focus.
export function keep(place, items, make, update) {
  const old = new Map([...place.children].map(child => [child.dataset.key, child]));
  items.forEach((item, i) => {
    const key = String(item.key);
    let child = old.get(key);
    if (!child) {
      child = make(item);
      child.dataset.key = key;
    }
    old.delete(key);
    if (place.children[i] !== child) {
      const focused = child.contains(document.activeElement) && document.activeElement;
      place.insertBefore(child, place.children[i] || null);
      if (focused) focused.focus();
    }
    update(child, item);
  });
  for (const child of old.values()) child.remove();
}
