// How well each way of searching answers the workspace's own questions.

import { latestOnly, request as requestNow } from "./api.js";
import { announce, count, failureNote, h, note, svg, waiting } from "./dom.js";
import { plain } from "./text.js";

export const title = "Evaluation";

const MEASURES = {
  ndcg: "nDCG@10", mrr: "MRR@10", hit: "hit@k", recall: "recall@k", all: "all@k",
};
const FEW = 20; // questions: intervals from fewer are unreliable
const CHART = { left: 130, right: 60, top: 22, row: 34, width: 720 };

const LOOK_MS = 500; // between looks at how far it is

let last = null; // the last evaluation, since one takes a while

export function open(root) {
  const body = h("div", {});
  const button = h("button", { type: "button", on: { click: run } }, "Run");
  root.append(h("div", { class: "head" }, h("h1", {}, title), button), body);
  const requests = latestOnly();
  let measure = "ndcg";

  async function run() {
    button.disabled = true;
    const bar = h("progress", { "aria-label": "questions asked" });
    const asked = waiting("Asking every question in memory-cases.jsonl in five ways …");
    body.replaceChildren(asked, bar);
    const looking = setInterval(() => showProgress(bar, asked), LOOK_MS);
    await requests.run(async (request) => {
      last = await request("/api/evaluation");
      show();
      announce(`${count(last.count, "question")} asked`);
    }, {
      failed: (error) => body.replaceChildren(
        error.status === 404 ? noCases(error) : failureNote(error, run),
      ),
      ended() {
        button.disabled = false;
        nameButton();
      },
    });
    clearInterval(looking);
  }

  const nameButton = () => { button.textContent = last ? "Run again" : "Run"; };

  function show() {
    nameButton();
    const names = { ...MEASURES, hit: `hit@${last.k}`, recall: `recall@${last.k}`, all: `all@${last.k}` };
    const choice = h("fieldset", { class: "choices" }, h("legend", {}, "Measure"),
      ...Object.entries(names).map(([value, words]) => h("label", {},
        h("input", {
          type: "radio", name: "measure", value, checked: value === measure,
          on: { change: () => { measure = value; drawChart(); } },
        }), words)));
    const place = h("div", {});
    const drawChart = () => place.replaceChildren(
      chart(last, measure, names[measure]), table(last, measure, names[measure]),
    );
    const answerable = last.variants[0].perCase.filter((each) => each.marks).length;
    body.replaceChildren(
      ...last.warnings.map((sentence) => note("warn", plain(sentence), "Correct it in memory-cases.jsonl.")),
      h("p", { class: "lead" }, `${count(last.count, "question")}, each asked in every way. `,
        "Dots are means, lines 95% intervals."),
      answerable < FEW ? note("", `Only ${count(answerable, "question")} with an answer: `
        + "intervals from so few are unreliable.", "Add more with `recollect eval add`.") : "",
      choice, place, missed(last),
    );
    drawChart();
  }

  return {
    update: () => (last ? show() : run()),
    close: requests.cancel,
  };
}

async function showProgress(bar, words) {
  try {
    const { done, total } = await requestNow("/api/evaluation/progress");
    if (!total || !bar.isConnected) return;
    bar.max = total;
    bar.value = done;
    words.replaceChildren(`Asked ${done.toLocaleString("en")} of ${count(total, "time")} …`);
  } catch (error) {
    console.debug(error.message); // the evaluation itself shows what is wrong
  }
}

function noCases(error) {
  return h("div", {},
    note("", error.message, error.action),
    h("p", { class: "lead" }, "A case is a question you really ask, with the places that answer it. ",
      "This command asks one, shows the hits and saves those you accept:"),
    h("pre", { class: "mono command" }, 'recollect eval add "how do we keep backups safe"'),
    h("p", { class: "lead" }, "Then press Run, or measure on the command line:"),
    h("pre", { class: "mono command" }, "recollect eval memory-cases.jsonl --compare"));
}

// Means with their intervals on one scale from 0 to 1, one row per way of searching.
function chart({ variants, configured }, measure, name) {
  const { left, right, top, row, width } = CHART;
  const at = (value) => left + value * (width - left - right);
  const height = top + variants.length * row + 10;
  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((value) => [
    svg("line", { class: "grid-line", x1: at(value), x2: at(value), y1: top, y2: height - 6 }),
    svg("text", { class: "tick", x: at(value), y: 12, "text-anchor": "middle" }, String(value)),
  ]);
  const rows = variants.flatMap((variant, place) => {
    const y = top + place * row + row / 2;
    const interval = variant.overall?.[measure];
    const kind = variant.name === configured ? "current" : "other";
    const label = svg("text", { class: `variant ${kind}`, x: left - 12, y: y + 4, "text-anchor": "end" },
      variant.name);
    if (!interval) {
      return [label, svg("text", { class: "tick", x: at(0) + 6, y: y + 4 }, "did not run")];
    }
    const { mean, low, high } = interval;
    return [
      label,
      svg("line", {
        class: `interval ${kind}`, x1: at(low), x2: at(high), y1: y, y2: y,
        "data-variant": variant.name, "data-low": low, "data-high": high,
      }),
      svg("circle", {
        class: `mean ${kind}`, cx: at(mean), cy: y, r: 5.5,
        "data-variant": variant.name, "data-mean": mean,
      }),
      svg("text", { class: "value numbers", x: width - right + 14, y: y + 4 }, mean.toFixed(2)),
    ];
  });
  return svg("svg", {
    class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${name} by way of searching; the table below has the numbers`,
  }, ...grid, ...rows);
}

function table({ variants, configured }, measure, name) {
  return h("table", { class: "measured" },
    h("caption", { class: "visually-hidden" }, `${name} by way of searching`),
    h("thead", {}, h("tr", {}, ...["", name, "95% interval", "nDCG compared with the current settings"]
      .map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, ...variants.map((variant) => {
      const own = variant.overall?.[measure];
      return h("tr", {},
        h("th", { scope: "row" }, variant.name, variant.name === configured ? " (current)" : ""),
        h("td", { class: "numbers" }, own ? own.mean.toFixed(3) : "did not run"),
        h("td", { class: "numbers" }, own ? `${own.low.toFixed(2)} – ${own.high.toFixed(2)}` : ""),
        h("td", { class: "numbers" }, gain(variant.gain)));
    })));
}

function gain(interval) {
  if (!interval) return "";
  const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
  const words = interval.low > 0 ? "better" : interval.high < 0 ? "worse" : "no clear difference";
  return `${signed(interval.mean)} (${signed(interval.low)} to ${signed(interval.high)}): ${words}`;
}

function missed({ variants, k }) {
  const lost = variants[0].perCase.filter((each) => each.marks && !each.marks.hit);
  if (!lost.length) return "";
  return h("details", {}, h("summary", {}, `${count(lost.length, "question")} not answered in the top ${k}`),
    h("ul", { class: "plain" }, ...lost.map((each) => h("li", {}, plain(each.query)))));
}
