// Memory by day: bars by month, a calendar of the months that hold something, a day's documents.

import { ask } from "./api.js";
import { link } from "./address.js";
import { count, day, h, say, size, svg } from "./dom.js";
import { note, trouble, waiting } from "./states.js";
import { reveal } from "./text.js";

const SOURCES = ["memory", "sessions", "facts"];
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const HEIGHT = 64; // of the highest bar

export function open(root) {
  const whole = h("div", {}, waiting("Counting days …"));
  const chosen = h("section", { class: "chosen", "aria-label": "Documents of the day" });
  root.append(
    h("div", { class: "head" }, h("h1", {}, "Timeline"), legend()), whole,
  );
  let days = null;
  let number = 0;

  async function update(params, { again = false } = {}) {
    const own = (number += 1);
    const wanted = params.get("day");
    try {
      if (!days || again) {
        days = await ask("/api/timeline");
        if (own !== number) return;
        whole.replaceChildren(...drawn(days, chosen));
        say(count(days.days.length, "day"));
      }
      mark(whole, wanted);
      if (wanted) await showDay(wanted, () => own === number);
      else chosen.replaceChildren(h("p", { class: "soft" }, "Choose a day to see its documents."));
    } catch (error) {
      if (own !== number) return;
      const again_ = () => update(params, { again: true });
      (chosen.isConnected ? chosen : whole).replaceChildren(trouble(error, again_));
    }
  }

  async function showDay(iso, isWanted) {
    chosen.replaceChildren(waiting("Reading …"));
    const isDated = iso !== "undated";
    const params = isDated ? { since: iso, before: after(iso), limit: 200 } : { limit: 1000 };
    const found = await ask("/api/documents", { params });
    if (!isWanted()) return;
    const documents = found.documents.filter((each) => isDated || each.date === null);
    chosen.replaceChildren(
      h("h2", {}, isDated ? full(iso) : "Without a day"),
      documents.length
        ? h("ul", { class: "documents" }, ...documents.map(documentEntry))
        : note("", "Nothing is stored of this day."),
    );
    chosen.scrollIntoView({ block: "nearest" });
    say(`${count(documents.length, "document")}, ${isDated ? day(iso) : "undated"}`);
  }

  return { update };
}

function legend() {
  return h("div", { class: "legend" }, ...SOURCES.map((source) =>
    h("span", {}, h("i", { class: `swatch ${source}` }), source)));
}

function drawn({ days, undated }, chosen) {
  if (!days.length && !undated.documents) {
    return [note("", "This memory is empty.",
      "Write notes to memory/2026-02-01.md and the like; they appear here after the next sync.")];
  }
  const months = new Map();
  for (const each of days) {
    const name = each.date.slice(0, 7);
    months.set(name, [...(months.get(name) ?? []), each]);
  }
  const all = everyMonth([...months.keys()]);
  const total = days.reduce((sum, each) => sum + each.chunks, 0);
  const rest = undated.documents
    ? h("p", { class: "soft" }, `${count(undated.documents, "document")} without a day `,
      `(${count(undated.chunks, "chunk")}): `,
      h("a", { href: link("timeline", { day: "undated" }), "data-day": "undated" }, "show them"))
    : null;
  return [
    h("p", { class: "lead numbers" },
      `${count(days.length, "day")} with ${count(total, "chunk")}`,
      days.length ? `, ${day(days[0].date)} to ${day(days.at(-1).date)}` : ""),
    days.length ? bars(all, months) : null,
    h("div", { class: "by-day" },
      h("div", {}, h("div", { class: "months" },
        // The newest first: that is what one looks for.
        ...[...months].reverse().map(([name, own]) => calendar(name, own, days))), rest),
      chosen),
  ].filter(Boolean);
}

function everyMonth(names) {
  if (!names.length) return [];
  const all = [];
  let [year, month] = names[0].split("-").map(Number);
  for (let name = names[0]; ; ) {
    all.push(name);
    if (name >= names.at(-1)) return all;
    [year, month] = month === 12 ? [year + 1, 1] : [year, month + 1];
    name = `${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}`;
  }
}

// One bar a month, the sources above each other; empty months keep their room.
function bars(all, months) {
  const sums = all.map((name) => sumOf(months.get(name) ?? []));
  const most = Math.max(...sums.map((sum) => sum.total), 1);
  const step = 100 / all.length;
  const width = Math.min(step * 0.8, 4);
  const pieces = sums.flatMap((sum, place) => {
    let top = HEIGHT;
    return SOURCES.filter((source) => sum[source]).map((source) => {
      const height = Math.max(1, (sum[source] / most) * HEIGHT);
      top -= height;
      return svg("rect", {
        class: `bar-of ${source}`, x: place * step + (step - width) / 2, y: top, width, height,
      });
    });
  });
  return h(
    "figure", { class: "bars" },
    svg("svg", {
      viewBox: `0 0 100 ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
      "aria-label": `Chunks by month from ${monthName(all[0])} to ${monthName(all.at(-1))}`,
    }, ...pieces),
    h("figcaption", {}, h("span", {}, monthName(all[0])), h("span", {}, monthName(all.at(-1)))),
  );
}

function sumOf(days) {
  const sum = { total: 0 };
  for (const each of days) {
    for (const [source, amount] of Object.entries(each.bySource)) {
      sum[source] = (sum[source] ?? 0) + amount.chunks;
      sum.total += amount.chunks;
    }
  }
  return sum;
}

function calendar(name, own, all) {
  const most = Math.max(...all.map((each) => each.chunks));
  const first = new Date(`${name}-01T00:00:00Z`);
  const lead = (first.getUTCDay() + 6) % 7; // weeks begin on Monday
  const length = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  const byDay = new Map(own.map((each) => [Number(each.date.slice(8)), each]));
  const cells = Array.from({ length }, (_, place) => cell(place + 1, byDay.get(place + 1), most));
  return h(
    "section", { class: "month", id: `m${name}` },
    h("h2", {}, monthName(name)),
    h("div", { class: "grid" },
      ...WEEKDAYS.map((weekday) => h("span", { class: "weekday", "aria-hidden": "true" }, weekday[0])),
      ...Array.from({ length: lead }, () => h("span", {})),
      ...cells),
  );
}

function cell(number, amount, most) {
  if (!amount) return h("span", { class: "cell", "aria-hidden": "true" }, number);
  const level = Math.min(4, 1 + Math.floor((4 * amount.chunks) / (most + 1)));
  const sources = SOURCES.filter((source) => amount.bySource[source]);
  const words = sources.map((source) => {
    const { documents, chunks } = amount.bySource[source];
    return `${source}: ${count(documents, "document")}, ${count(chunks, "chunk")}`;
  });
  return h(
    "a",
    {
      class: `cell has level${level}`, href: link("timeline", { day: amount.date }),
      "data-day": amount.date, title: words.join("; "),
      "aria-label": `${full(amount.date)}; ${words.join("; ")}`,
    },
    number,
    h("span", { class: "dots", "aria-hidden": "true" },
      ...sources.map((source) => h("i", { class: `swatch ${source}` }))),
  );
}

function mark(whole, wanted) {
  for (const each of whole.querySelectorAll("[data-day]")) {
    if (each.dataset.day === wanted) each.setAttribute("aria-current", "date");
    else each.removeAttribute("aria-current");
  }
}

function documentEntry(each) {
  return h(
    "li", {},
    h("a", { href: link("file", { path: each.path }) }, reveal(each.title ?? each.path)),
    h("p", { class: "place" },
      h("span", { class: `tag ${each.source}` }, each.source),
      h("span", { class: "mono" }, reveal(each.path)),
      h("span", {}, count(each.chunks, "chunk")), h("span", {}, size(each.sizeBytes))),
    each.headings.length
      ? h("p", { class: "soft", dir: "auto" },
        ...each.headings.flatMap((heading, place) => [place ? " · " : "", reveal(heading)]))
      : null,
  );
}

const FULL = new Intl.DateTimeFormat("en-GB", {
  weekday: "long", day: "numeric", month: "long", year: "numeric", timeZone: "UTC",
});

function full(iso) {
  const moment = new Date(`${iso}T00:00:00Z`);
  return Number.isNaN(moment.valueOf()) ? iso : FULL.format(moment);
}

function monthName(name) {
  return MONTH.format(new Date(`${name}-01T00:00:00Z`));
}

function after(iso) {
  const next = new Date(`${iso}T00:00:00Z`);
  if (Number.isNaN(next.valueOf())) return iso; // the server says what is wrong with it
  next.setUTCDate(next.getUTCDate() + 1);
  return next.toISOString().slice(0, 10);
}
