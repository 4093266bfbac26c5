// Requests to the server, with its token. Every failure is a Failure.

import { h } from "./dom.js";
import { invalidResponse, offline, refused } from "./failures.js";

const TOKEN = "recollect.token";

// A link may carry the token once, after the #, which browsers never send.
export function takeToken() {
  const given = location.hash.match(/^#token=(.+)$/u);
  if (!given) return;
  sessionStorage.setItem(TOKEN, decodeURIComponent(given[1]));
  history.replaceState(null, "", `${location.pathname}#/search`);
}

// Returns the JSON of a response. After `signal` is aborted it throws, even if a response came.
export function request(path, options = {}) {
  return answerTo(path, options, read);
}

// Returns a picture as the address of an image; only requests carry the token.
export function requestPicture(params) {
  return answerTo("/api/picture", { params }, async (response) => {
    if (!response.ok) return read(response);
    const reader = new FileReader();
    reader.readAsDataURL(await response.blob());
    await new Promise((resolve) => reader.addEventListener("loadend", resolve));
    return reader.result;
  });
}

async function answerTo(path, { method = null, params = {}, body = null, signal = null }, receive) {
  for (let attempt = 0; ; attempt += 1) {
    const token = sessionStorage.getItem(TOKEN);
    const response = await send(path, { method, params, body, signal, token });
    if (response.status !== 401) {
      const answer = await receive(response);
      signal?.throwIfAborted();
      return answer;
    }
    // Another request may have got a token in the meantime.
    if (sessionStorage.getItem(TOKEN) === token) {
      sessionStorage.setItem(TOKEN, await promptForToken({ isWrong: Boolean(token) || attempt > 0 }));
    }
  }
}

// Runs one piece of work at a time: the latest. Starting another, or `cancel`, aborts the requests
// of the one before, and drops its result and its failure.
export function latestOnly() {
  let controller = new AbortController();
  return {
    cancel: () => controller.abort(),
    // `work` gets a `request` that ends with it.
    async run(work, { failed, ended = () => {} }) {
      controller.abort();
      controller = new AbortController();
      const { signal } = controller;
      try {
        await work((path, options) => request(path, { ...options, signal }));
      } catch (error) {
        if (!signal.aborted) failed(error);
      }
      if (!signal.aborted) ended();
    },
  };
}

async function send(path, { method, params, body, signal, token }) {
  const headers = { Accept: "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  try {
    const response = await fetch(`${path}${query(params)}`, {
      method: method ?? (body ? "POST" : "GET"),
      body: body ? JSON.stringify(body) : null,
      headers,
      signal,
    });
    report("online");
    return response;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    report("offline");
    throw offline();
  }
}

async function read(response) {
  let json;
  try {
    json = await response.json();
  } catch (error) {
    throw error.name === "AbortError" ? error : invalidResponse();
  }
  if (response.ok) return json;
  throw refused(response.status, json.error);
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

function report(state) {
  document.dispatchEvent(new CustomEvent("server", { detail: state }));
}

let prompting = null; // requests that need a token at the same time share one dialog

function promptForToken({ isWrong }) {
  prompting ??= showTokenDialog(isWrong).finally(() => {
    prompting = null;
  });
  return prompting;
}

function showTokenDialog(isWrong) {
  return new Promise((resolve) => {
    const input = h("input", {
      type: "password", id: "token", required: true, autocomplete: "off", spellcheck: "false",
      "aria-describedby": "token-help",
    });
    const submit = (event) => {
      event.preventDefault();
      dialog.close();
      dialog.remove();
      resolve(input.value.trim());
    };
    const dialog = h("dialog", { "aria-labelledby": "token-title" }, h(
      "form",
      { on: { submit } },
      h("h2", { id: "token-title" }, "This server needs a token"),
      h("p", { id: "token-help", class: isWrong ? "note bad" : "soft" },
        isWrong ? "That token was not accepted. " : "",
        "Enter the token the server was started with: RECOLLECT_TOKEN, or the file of --token-file."),
      h("label", { for: "token" }, "Token"),
      input,
      h("button", { class: "strong", type: "submit" }, "Continue"),
    ));
    // Without a token there is nothing to show.
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    document.body.append(dialog);
    dialog.showModal();
  });
}
