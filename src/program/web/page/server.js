// SPDX-License-Identifier: Apache-2.0
// Asking the page's server (README.md lists for what).

import {state} from "./state.js";

const token = new URLSearchParams(location.hash.slice(1)).get("token");

export async function post(name, body) {
  const headers = {"X-Perigee": "1", "Content-Type": "application/json"};
  if (token) headers.Authorization = "Bearer " + token;
  const answer = await fetch("/api/" + name,
    {method: "POST", headers, body: JSON.stringify(body || {})});
  if (!answer.ok) throw new Error((await answer.json()).error);
  return answer;
}

export const ask = async (name, body) =>
  (await post(name, {instance: String(state.instance), ...body})).json();
