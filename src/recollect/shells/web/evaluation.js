// How well search answers the workspace's own questions, by every way of searching.

import { ask } from "./api.js";
import { count, h, say } from "./dom.js";
import { chart } from "./chart.js";
import { note, trouble, waiting } from "./states.js";
import { plain } from "./text.js";

const MARKS = {
  ndcg: "nDCG@10", mrr: "MRR@10", hit: "hit@k", recall: "recall@k", all: "all@k",
};
const FEW = 20; // questions: intervals from fewer claim too much

let kept = null; // the last answer: asking takes a while

export function open(root) {
  const body = h("div", {});
  const again = h("button", { type: "button", on: { click: run } }, "Run");
  root.append(
    h("div", { class: "head" }, h("h1", {}, "Evaluation"), again), body,
  );
  let asked = null;
  let mark = "ndcg";

  async function run() {
    asked?.abort();
    asked = new AbortController();
    const { signal } = asked;
    again.disabled = true;
    body.replaceChildren(waiting(
      "Asking every question of memory-cases.jsonl in five ways. This may take a while …",
    ));
    try {
      kept = await ask("/api/evaluation", { signal });
      show();
      say(`${count(kept.count, "question")} asked`);
    } catch (error) {
      if (error.name === "AbortError") return;
      body.replaceChildren(error.status === 404 ? noCases(error) : trouble(error, run));
    } finally {
      if (!signal.aborted) again.disabled = false;
      name();
    }
  }

  const name = () => { again.textContent = kept ? "Run again" : "Run"; };

  function show() {
    name();
    const names = { ...MARKS, hit: `hit@${kept.k}`, recall: `recall@${kept.k}`, all: `all@${kept.k}` };
    const choice = h("fieldset", { class: "choices" }, h("legend", {}, "Measure"),
      ...Object.entries(names).map(([value, words]) => h("label", {},
        h("input", {
          type: "radio", name: "mark", value, checked: value === mark,
          on: { change: () => { mark = value; drawChart(); } },
        }), words)));
    const place = h("div", {});
    const drawChart = () => place.replaceChildren(chart(kept, mark, names[mark]), table(kept, mark, names[mark]));
    const answerable = kept.variants[0].perCase.filter((each) => each.marks).length;
    body.replaceChildren(
      ...kept.warnings.map((sentence) => note("warn", plain(sentence), "Correct it in the file of cases.")),
      h("p", { class: "lead" }, `${count(kept.count, "question")}, each asked in every way. `,
        "Dots are means, lines 95 % intervals."),
      answerable < FEW ? note("", `Only ${count(answerable, "question")} with an answer: `
        + "intervals from so few claim too much.", "Add more with `recollect eval add`.") : "",
      choice, place, missed(kept),
    );
    drawChart();
  }

  return {
    update: () => (kept ? show() : run()),
    close: () => asked?.abort(),
  };
}

function noCases(error) {
  return h("div", {},
    note("", error.message, error.action),
    h("p", { class: "lead" }, "A case is a question you really ask, with the places that answer it. ",
      "This command asks one, shows the hits and keeps those you accept:"),
    h("pre", { class: "mono command" }, 'recollect eval add "how do we keep backups safe"'),
    h("p", { class: "lead" }, "Then press Run, or measure on the command line:"),
    h("pre", { class: "mono command" }, "recollect eval memory-cases.jsonl --compare"));
}

function table({ variants, configured }, mark, name) {
  return h("table", { class: "measured" },
    h("caption", { class: "unseen" }, `${name} by way of searching`),
    h("thead", {}, h("tr", {}, ...["", name, "95 % interval", "nDCG against the settings in force"]
      .map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, ...variants.map((variant) => {
      const own = variant.overall?.[mark];
      return h("tr", {},
        h("th", { scope: "row" }, variant.name, variant.name === configured ? " (in force)" : ""),
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
  return h("details", {}, h("summary", {}, `${count(lost.length, "question")} not answered among the first ${k}`),
    h("ul", { class: "plain" }, ...lost.map((each) => h("li", {}, plain(each.query)))));
}
