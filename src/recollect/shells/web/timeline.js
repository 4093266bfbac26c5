// Memory by day: a bar for each month, calendars of the months with documents, a day's documents.

import { latestOnly } from "./api.js";
import { link } from "./address.js";
import {
  announce, count, day, failureNote, h, markCurrent, note, size, svg, swatch, tag, waiting,
} from "./dom.js";
import { reveal } from "./text.js";

export const title = "Timeline";

const SOURCES = ["memory", "sessions", "agents", "facts"];
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const HEIGHT = 64; // of the tallest bar
const LONG_GAP = 6; // empty months; longer gaps are drawn as one, so that one old note does not squeeze the rest
const FACTS = 12; // of a day

export function open(root) {
  const overview = h("div", {}, waiting("Loading …"));
  const detail = h("section", { class: "day-documents", "aria-label": "Documents of the day" });
  const legend = h("div", { class: "legend" },
    ...SOURCES.map((source) => h("span", {}, swatch(source), source)));
  root.append(h("div", { class: "head" }, h("h1", {}, title), legend,
    h("a", { href: link("notes") }, "All notes")), overview);
  const requests = latestOnly();
  let isLoaded = false;

  function update(params, { again = false } = {}) {
    const wanted = params.get("day");
    return requests.run(async (request) => {
      if (!isLoaded || again) {
        const timeline = await request("/api/timeline");
        isLoaded = true;
        overview.replaceChildren(...overviewOf(timeline, detail));
        announce(count(timeline.days.length, "day"));
      }
      markCurrent(overview, "day", wanted, "date");
      if (wanted) await showDay(wanted, request);
      else detail.replaceChildren(h("p", { class: "soft" }, "Choose a day to see its documents."));
    }, {
      failed(error) {
        const retry = () => update(params, { again: true });
        (detail.isConnected ? detail : overview).replaceChildren(failureNote(error, retry));
      },
    });
  }

  async function showDay(iso, request) {
    detail.replaceChildren(waiting("Loading …"));
    const isDated = iso !== "undated";
    const params = isDated ? { since: iso, before: dayAfter(iso), limit: 200 } : { limit: 1000 };
    const [found, { facts }] = await Promise.all([
      request("/api/documents", { params }),
      isDated ? request("/api/facts", { params: { asOf: iso } }) : { facts: [] },
    ]);
    const documents = found.documents.filter((each) => isDated || each.date === null);
    detail.replaceChildren(
      h("h2", {}, isDated ? fullDate(iso) : "Undated"),
      documents.length
        ? h("ul", { class: "documents" }, ...documents.map(documentEntry))
        : note("", "Nothing is stored for this day."),
      ...(isDated ? asOf(iso, facts) : []),
    );
    detail.scrollIntoView({ block: "nearest" });
    announce(`${count(documents.length, "document")}, ${isDated ? day(iso) : "undated"}`);
  }

  return { update, close: requests.cancel };
}

// What memory held to be true on a day.
function asOf(iso, facts) {
  return [
    h("h3", { class: "as-of" }, facts.length ? "Facts valid on this day" : "No fact was valid on this day"),
    h("ul", { class: "plain facts-of-day" }, ...facts.slice(0, FACTS).map((fact) => h("li", {},
      h("a", { href: link("facts", { id: fact.id, asOf: iso }), dir: "auto" }, reveal(fact.text))))),
    h("p", { class: "place" },
      facts.length > FACTS ? h("a", { href: link("facts", { asOf: iso }) }, `All ${facts.length}`) : null,
      h("a", { href: link("search", { asOf: iso }) }, "Search as of this day")),
  ];
}

function overviewOf({ days, undated }, detail) {
  if (!days.length && !undated.documents) {
    return [note("", "This memory is empty.",
      "Write notes such as memory/2026-02-01.md; they appear here after the next sync.")];
  }
  const months = new Map();
  for (const each of days) {
    const name = each.date.slice(0, 7);
    months.set(name, [...(months.get(name) ?? []), each]);
  }
  const slots = slotsOf([...months.keys()]);
  const total = days.reduce((sum, each) => sum + each.chunks, 0);
  const rest = undated.documents
    ? h("p", { class: "soft" }, `${count(undated.documents, "undated document")} `,
      `(${count(undated.chunks, "chunk")}): `,
      h("a", { href: link("timeline", { day: "undated" }), "data-day": "undated" }, "show them"))
    : null;
  return [
    h("p", { class: "lead numbers" },
      `${count(days.length, "day")} with ${count(total, "chunk")}`,
      days.length ? `, ${day(days[0].date)} to ${day(days.at(-1).date)}` : ""),
    days.length ? bars(slots, months) : null,
    h("div", { class: "by-day" },
      h("div", {}, h("div", { class: "months" },
        // The newest first: they are looked at most.
        ...[...months].reverse().map(([name, own]) => calendar(name, own, days))), rest),
      detail),
  ].filter(Boolean);
}

// The months from the first to the last of a sorted list; `{ gap }` stands for many empty ones.
function slotsOf(names) {
  const number = (name) => Number(name.slice(0, 4)) * 12 + Number(name.slice(5)) - 1;
  const monthOf = (each) => `${String(Math.floor(each / 12)).padStart(4, "0")}-${String((each % 12) + 1).padStart(2, "0")}`;
  return names.flatMap((name, place) => {
    const empty = place ? number(name) - number(names[place - 1]) - 1 : 0;
    if (empty > LONG_GAP) return [{ gap: empty }, { name }];
    const between = Array.from({ length: empty }, (_, step) => ({ name: monthOf(number(name) - empty + step) }));
    return [...between, { name }];
  });
}

// One bar per month, its sources stacked; short gaps keep their place, long ones are a break.
function bars(slots, months) {
  const sums = slots.map(({ name }) => sumOf(months.get(name) ?? []));
  const most = Math.max(...sums.map((sum) => sum.total), 1);
  const step = 100 / slots.length;
  const width = Math.min(step * 0.8, 4);
  const segments = sums.flatMap((sum, place) => {
    let top = HEIGHT;
    const left = place * step + (step - width) / 2;
    if (slots[place].gap) {
      return [svg("line", { class: "gap-of", x1: left + width / 2, x2: left + width / 2, y1: 0, y2: HEIGHT })];
    }
    return SOURCES.filter((source) => sum[source]).map((source) => {
      const height = Math.max(1, (sum[source] / most) * HEIGHT);
      top -= height;
      return svg("rect", { class: `bar-of ${source}`, x: left, y: top, width, height });
    });
  });
  return h(
    "figure", { class: "bars" },
    svg("svg", {
      viewBox: `0 0 100 ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
      "aria-label": `Chunks by month from ${monthName(slots[0].name)} to ${monthName(slots.at(-1).name)}`,
    }, ...segments),
    h("figcaption", {}, ...ticks(slots)),
  );
}

// The ends of every run of months, and how long the gaps between them are.
function ticks(slots) {
  const runs = [];
  for (const [place, { name, gap }] of slots.entries()) {
    if (gap || !place) runs.push({ gap, from: gap ? null : name, to: null, slots: 0 });
    const run = runs.at(-1);
    run.from ??= name ?? null;
    run.to = name ?? run.to;
    run.slots += 1;
  }
  return runs.map((run) => {
    const tick = h("span", {}, h("span", {}, run.gap ? `… ${yearsOf(run.gap)} later: ${monthName(run.from)}` : monthName(run.from)),
      run.to !== run.from ? h("span", {}, monthName(run.to)) : null);
    tick.style.flexGrow = String(run.slots);
    return tick;
  });
}

function yearsOf(months) {
  return months < 24 ? count(months, "month") : count(Math.round(months / 12), "year");
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
  const lead = (first.getUTCDay() + 6) % 7; // weeks start on Monday
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
      "aria-label": `${fullDate(amount.date)}; ${words.join("; ")}`,
    },
    number,
    h("span", { class: "dots", "aria-hidden": "true" },
      ...sources.map(swatch)),
  );
}

function documentEntry(each) {
  return h(
    "li", {},
    h("a", { href: link("file", { path: each.path }) }, reveal(each.title ?? each.path)),
    h("p", { class: "place" },
      tag(each.source),
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

function fullDate(iso) {
  const moment = new Date(`${iso}T00:00:00Z`);
  return Number.isNaN(moment.valueOf()) ? iso : FULL.format(moment);
}

function monthName(name) {
  return MONTH.format(new Date(`${name}-01T00:00:00Z`));
}

function dayAfter(iso) {
  const next = new Date(`${iso}T00:00:00Z`);
  if (Number.isNaN(next.valueOf())) return iso; // the server rejects it with a reason
  next.setUTCDate(next.getUTCDate() + 1);
  return next.toISOString().slice(0, 10);
}
