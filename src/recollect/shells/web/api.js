// Asking the server. Every failure becomes a Trouble with a message and the next step.

import { askToken } from "./token.js";

const TOKEN = "recollect.token";

export class Trouble extends Error {
  constructor(type, message, action, status = 0) {
    super(message);
    this.type = type;
    this.action = action;
    this.status = status;
  }
}

// A link may carry the token once, behind the #, which is never sent to any server.
export function takeToken() {
  const given = location.hash.match(/^#token=(.+)$/u);
  if (!given) return;
  sessionStorage.setItem(TOKEN, decodeURIComponent(given[1]));
  history.replaceState(null, "", `${location.pathname}#/search`);
}

export async function ask(path, { params = {}, body = null, signal = null } = {}) {
  for (let attempt = 0; ; attempt += 1) {
    const used = sessionStorage.getItem(TOKEN);
    const answer = await sent(path, { params, body, signal, token: used });
    if (answer.status !== 401) return read(answer);
    // Another request may have got a token while this one was on its way.
    if (sessionStorage.getItem(TOKEN) === used) {
      sessionStorage.setItem(TOKEN, await askToken({ isWrong: Boolean(used) || attempt > 0 }));
    }
  }
}

async function sent(path, { params, body, signal, token }) {
  const headers = { Accept: "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  try {
    const answer = await fetch(`${path}${query(params)}`, {
      method: body ? "POST" : "GET",
      body: body ? JSON.stringify(body) : null,
      headers,
      signal,
    });
    tell("here");
    return answer;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    tell("gone");
    throw new Trouble(
      "gone", "The server does not answer.", "Start it again with `recollect serve`.",
    );
  }
}

async function read(answer) {
  let shape;
  try {
    shape = await answer.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Trouble("answer", "The server's answer cannot be read.", "Reload the page.");
  }
  if (answer.ok) return shape;
  const { type, message, action } = shape.error ?? {};
  throw new Trouble(
    type ?? "error", message ?? `The server refused it (${answer.status}).`,
    action ?? "What the server printed tells more.", answer.status,
  );
}

function query(params) {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const each of [value].flat()) {
      if (each !== null && each !== undefined && each !== "") given.append(name, each);
    }
  }
  return given.size ? `?${given}` : "";
}

function tell(state) {
  document.dispatchEvent(new CustomEvent("server", { detail: state }));
}
