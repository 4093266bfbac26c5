// The state of the page is in its address, so that links can be shared and Back works.

export function here() {
  const [, view = "", query = ""] = location.hash.match(/^#\/([^?]*)\??(.*)$/su) ?? [];
  return { view, params: new URLSearchParams(query) };
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

// Changes the address; `replace` keeps the same history entry.
export function go(view, params, { replace = false } = {}) {
  const target = link(view, params);
  if (target === location.hash) return;
  if (replace) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
  document.dispatchEvent(new Event("address"));
}

export function fileLink({ path, startLine, endLine, matched = [] }) {
  return link("file", { path, from: startLine, to: endLine, words: matched.join(" ") });
}

// The glob that only this path matches: a name may hold signs that a glob reads.
export function globOf(path) {
  return path.replace(/[*?[]/gu, "[$&]");
}

// How a note is called if only its path is known.
export function nameOf(path) {
  return path.split("/").at(-1).replace(/\.md$/iu, "");
}

// The folder of a path; of a transcript, whose folders are an agent's own, only where it comes from.
export function folderOf(path) {
  const folders = path.split("/").slice(0, -1);
  return (folders[0] === "sessions" ? folders.slice(0, 1) : folders).join("/");
}
