// What can be done with a passage: copy its citation or its text, open it in an editor.

import { announce, h } from "./dom.js";

const EDITOR = "recollect.editor";
const COPIED_MS = 1500;

// How an editor opens a file, by its absolute path.
const EDITORS = {
  vscode: { name: "VS Code", address: (file, line) => `vscode://file${encodeURI(file)}:${line}` },
  obsidian: { name: "Obsidian", address: (file) => `obsidian://open?path=${encodeURIComponent(file)}` },
};

let workspace = null; // the folder of the notes, as the server named it

export function setWorkspace(folder) {
  workspace = folder;
}

export function copyButton(words, text) {
  const button = h("button", { type: "button", class: "small", on: { click: copy } }, words);

  async function copy() {
    const isCopied = await toClipboard(text);
    button.replaceChildren(isCopied ? "Copied" : "Could not copy");
    announce(isCopied ? "Copied" : "Could not copy");
    setTimeout(() => button.replaceChildren(words), COPIED_MS);
  }

  return button;
}

async function toClipboard(text) {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch (error) {
      console.debug(error.message); // not allowed; the other way may be
    }
  }
  // Browsers offer the clipboard only to pages from this computer or with TLS.
  const area = h("textarea", { class: "visually-hidden", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  return isCopied;
}

// A link that opens a note in the chosen editor; null if none is chosen, or it is not a file of the workspace.
export function editorLink({ path, source, startLine = 1 }) {
  const editor = EDITORS[localStorage.getItem(EDITOR)];
  if (!editor || !workspace || source !== "memory") return null;
  const folder = workspace.replaceAll("\\", "/").replace(/\/$/u, "");
  const file = `${folder.startsWith("/") ? "" : "/"}${folder}/${path}`;
  return h("a", { class: "small", href: editor.address(file, startLine) }, `Open in ${editor.name}`);
}

export function editorChoice(chosen = () => {}) {
  const select = h("select", {}, h("option", { value: "" }, "no editor"),
    ...Object.entries(EDITORS).map(([value, { name }]) => h("option", { value }, name)));
  select.value = localStorage.getItem(EDITOR) ?? "";
  select.addEventListener("change", () => {
    localStorage.setItem(EDITOR, select.value);
    chosen();
  });
  return h("label", { class: "soft" }, "Open notes in ", select);
}
