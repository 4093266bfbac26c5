// All notes: a tree of folders, tags with counts, and a list by date with the first line of each.

import { latestOnly } from "./api.js";
import { fileLink, folderOf, go, link, nameOf } from "./address.js";
import { announce, count, day, debounced, failureNote, h, note, searchBox, tag, waiting } from "./dom.js";
import { oneLine } from "./markdown.js";
import { reveal } from "./text.js";

export const title = "Notes";

const PAUSE_MS = 140;
const PAGE = 1000; // documents of one request
const MOST_NOTES = 5000; // listed; who has more searches
const STEP = 100; // notes shown at first, and with each press of "More notes"
const TAGS = 24; // the most used
const OPENED = 3; // folders at the top that show what is in them
const UNTELLING = /^\d{4}-\d{2}-\d{2}$/u; // a title that is only a date
const SOURCES = ["memory", "agents"];

export async function allNotes(request) {
  const found = [];
  for (const source of SOURCES) {
    for (let offset = 0; offset < MOST_NOTES; offset += PAGE) {
      const { documents, total } = await request("/api/documents", { params: { source, limit: PAGE, offset } });
      found.push(...documents);
      if (offset + PAGE >= total) break;
    }
  }
  return byDate(found);
}

// The newest first; a note without a date has that of its file.
export function byDate(notes) {
  const dated = notes.map((each) => ({ ...each, at: each.date ?? each.changed ?? "" }));
  return dated.sort((one, other) => (one.at < other.at ? 1 : one.at > other.at ? -1 : one.path < other.path ? -1 : 1));
}

export function noteEntry(each) {
  const { path, source, date, at, title: words, firstLine, tags } = each;
  // A diary is called by its day, which is said once.
  const isDay = UNTELLING.test(words ?? nameOf(path));
  const said = isDay && at ? h("time", { datetime: at }, day(at)) : reveal(words ?? nameOf(path));
  return h("li", {},
    h("div", { class: "note-head" },
      h("a", { href: fileLink({ path }), dir: "auto" }, said),
      at && !isDay ? h("time", { datetime: at }, date ? day(at) : `changed ${day(at)}`) : null),
    firstLine ? h("p", { class: "first-line", dir: "auto" }, oneLine(firstLine, { path })) : null,
    h("p", { class: "place" }, source === "memory" ? null : tag(source),
      folderOf(path) ? h("span", { class: "mono" }, reveal(`${folderOf(path)}/`)) : null,
      ...tags.slice(0, 4).map((name) => h("span", {}, reveal(`#${name}`)))));
}

export function open(root) {
  const box = searchBox("Filter notes by name, first line, tag");
  const tree = h("nav", { class: "tree", "aria-label": "Folders" });
  const tags = h("div", { class: "chips facets", role: "group", "aria-label": "Tags" });
  const list = h("div", {}, waiting("Loading …"));
  root.append(
    h("div", { class: "head" }, h("h1", {}, title),
      h("a", { href: link("timeline") }, "By day")),
    h("form", { role: "search", on: { submit: (event) => { event.preventDefault(); settled(); } } }, box),
    h("div", { class: "shelf" }, h("div", { class: "shelf-side" }, tree, tags), list));
  const requests = latestOnly();
  let notes = null;
  let folderCount = 0; // at the top
  let chosen = { folder: "", tag: "", text: "" };

  function update(params, { again = false } = {}) {
    const [text, folder, tag] = ["text", "folder", "tag"].map((name) => params.get(name) ?? "");
    chosen = { text, folder, tag };
    if (box.value.trim() !== text.trim()) box.value = text;
    if (notes && !again) {
      show();
      return null;
    }
    return requests.run(async (request) => {
      notes = await allNotes(request);
      show();
    }, { failed: (error) => list.replaceChildren(failureNote(error, () => update(params, { again: true }))) });
  }

  function show() {
    const words = chosen.text.toLowerCase().split(/\s+/u).filter(Boolean);
    const isNamed = (each) => {
      const said = [each.path, each.title ?? "", each.firstLine, ...each.tags.map((name) => `#${name}`)].join("\n").toLowerCase();
      return words.every((word) => said.includes(word));
    };
    const named = notes.filter(isNamed);
    const inFolder = named.filter(({ path }) => isIn(path, chosen.folder));
    const found = inFolder.filter((each) => !chosen.tag || each.tags.some((name) => isTag(name, chosen.tag)));
    const top = folders(named);
    folderCount = top.inner.size;
    tree.replaceChildren(branch("", top));
    tags.replaceChildren(...tagChips(inFolder));
    showList(found, STEP);
    announce(count(found.length, "note"));
  }

  function showList(found, most) {
    const more = h("button", {
      type: "button", class: "more",
      on: {
        click() {
          showList(found, most + STEP);
          list.querySelectorAll(".note-head a")[most]?.focus();
        },
      },
    }, "More notes");
    const nothing = notes.length ? note("", "No note matches.", "Choose another folder or tag, or clear the box.")
      : note("", "This memory is empty.", "Write notes such as MEMORY.md or memory/2026-02-01.md; they appear here after the next sync.");
    list.replaceChildren(
      h("p", { class: "summary numbers" }, count(found.length, "note")),
      found.length ? h("ul", { class: "documents" }, ...found.slice(0, most).map(noteEntry)) : nothing,
      found.length > most ? more : "");
  }

  // A folder with those in it; only what leads to the chosen one is open.
  function branch(name, tree) {
    const isSmall = !name.includes("/") && folderCount <= OPENED;
    const isOpen = name === "" || isSmall || isIn(`${chosen.folder}/`, name);
    const children = isOpen ? [...tree.inner].sort(([one], [other]) => (one < other ? -1 : 1)) : [];
    const words = name ? `${name.split("/").at(-1)}/` : "All notes";
    const entry = h("a", {
      href: link("notes", { ...chosen, folder: name }), dir: "auto",
      "aria-current": name === chosen.folder ? "true" : null,
    }, reveal(words), h("span", { class: "numbers soft" }, ` ${tree.amount}`));
    const below = children.map(([each, inner]) => h("li", {}, branch(each, inner)));
    return h("div", {}, entry, below.length ? h("ul", {}, ...below) : null);
  }

  function tagChips(found) {
    const counted = new Map();
    for (const name of found.flatMap((each) => each.tags)) counted.set(name, (counted.get(name) ?? 0) + 1);
    const most = [...counted].sort(([, one], [, other]) => other - one).slice(0, TAGS);
    if (chosen.tag && !most.some(([name]) => name === chosen.tag)) most.unshift([chosen.tag, counted.get(chosen.tag) ?? 0]);
    return most.map(([name, amount]) => h("a", {
      class: "chip", "aria-current": name === chosen.tag ? "true" : null,
      href: link("notes", { ...chosen, tag: name === chosen.tag ? "" : name }),
    }, reveal(`#${name}`), h("span", { class: "numbers soft" }, ` ${amount}`)));
  }

  const typed = debounced(PAUSE_MS, () => go("notes", { ...chosen, text: box.value }, { replace: true }));

  function settled() {
    typed.cancel();
    go("notes", { ...chosen, text: box.value });
  }

  box.addEventListener("input", typed);
  return {
    update,
    close() {
      typed.cancel();
      requests.cancel();
    },
  };
}

function isIn(path, folder) {
  return folder === "" || path.startsWith(`${folder}/`);
}

// A tag includes those below it, as in a search.
function isTag(name, wanted) {
  const [one, other] = [name.toLowerCase(), wanted.toLowerCase()];
  return one === other || one.startsWith(`${other}/`);
}

// The folders of the notes: each with the number of notes in and below it.
function folders(notes) {
  const root = { amount: 0, inner: new Map() };
  for (const { path } of notes) {
    let at = root;
    at.amount += 1;
    const parts = path.split("/").slice(0, -1);
    parts.forEach((_, place) => {
      const name = parts.slice(0, place + 1).join("/");
      if (!at.inner.has(name)) at.inner.set(name, { amount: 0, inner: new Map() });
      at = at.inner.get(name);
      at.amount += 1;
    });
  }
  return root;
}
