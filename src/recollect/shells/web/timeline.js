// Memory by day: a bar for each month, calendars of the months with documents, a day's documents.

import { latestOnly } from "./api.js";
import { link } from "./address.js";
import {
  announce, count, day, failureNote, h, markCurrent, note, size, svg, swatch, tag, waiting,
} from "./dom.js";
import { reveal } from "./text.js";

export const title = "Timeline";

const SOURCES = ["memory", "sessions", "facts"];
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const HEIGHT = 64; // of the tallest bar

export function open(root) {
  const overview = h("div", {}, waiting("Loading …"));
  const detail = h("section", { class: "day-documents", "aria-label": "Documents of the day" });
  const legend = h("div", { class: "legend" },
    ...SOURCES.map((source) => h("span", {}, swatch(source), source)));
  root.append(h("div", { class: "head" }, h("h1", {}, title), legend), overview);
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
    const found = await request("/api/documents", { params });
    const documents = found.documents.filter((each) => isDated || each.date === null);
    detail.replaceChildren(
      h("h2", {}, isDated ? fullDate(iso) : "Undated"),
      documents.length
        ? h("ul", { class: "documents" }, ...documents.map(documentEntry))
        : note("", "Nothing is stored for this day."),
    );
    detail.scrollIntoView({ block: "nearest" });
    announce(`${count(documents.length, "document")}, ${isDated ? day(iso) : "undated"}`);
  }

  return { update, close: requests.cancel };
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
  const all = monthsBetween([...months.keys()]);
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
    days.length ? bars(all, months) : null,
    h("div", { class: "by-day" },
      h("div", {}, h("div", { class: "months" },
        // The newest first: they are looked at most.
        ...[...months].reverse().map(([name, own]) => calendar(name, own, days))), rest),
      detail),
  ].filter(Boolean);
}

// All months from the first to the last of a sorted list.
function monthsBetween(names) {
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

// One bar per month, its sources stacked; empty months keep their place.
function bars(all, months) {
  const sums = all.map((name) => sumOf(months.get(name) ?? []));
  const most = Math.max(...sums.map((sum) => sum.total), 1);
  const step = 100 / all.length;
  const width = Math.min(step * 0.8, 4);
  const segments = sums.flatMap((sum, place) => {
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
    }, ...segments),
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
