// The state of the page stands in its address, so that it can be shared and Back works.

export const VIEWS = ["search", "file", "timeline", "map", "facts", "health", "evaluation"];

export function here() {
  const [, view = "", query = ""] = location.hash.match(/^#\/([^?]*)\??(.*)$/su) ?? [];
  if (VIEWS.includes(view)) return { view, params: new URLSearchParams(query), isKnown: true };
  return { view: "search", params: new URLSearchParams(), isKnown: view === "" };
}

export function link(view, params = {}) {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== "" && value !== false) {
      given.set(name, value);
    }
  }
  return `#/${view}${given.size ? `?${given}` : ""}`;
}

// Change the address; `quietly` stays on the same entry of the history.
export function go(view, params, { quietly = false } = {}) {
  const target = link(view, params);
  if (target === location.hash) return;
  if (quietly) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
  document.dispatchEvent(new Event("address"));
}

export function fileLink({ path, startLine, endLine }) {
  return link("file", { path, from: startLine, to: endLine });
}
