// Means with their intervals, one line a way of searching, on one scale from 0 to 1.

import { svg } from "./dom.js";

const LEFT = 130;
const WIDTH = 720;
const RIGHT = 60;
const ROW = 34;
const TOP = 22;

export function chart({ variants, configured }, mark, name) {
  const at = (value) => LEFT + value * (WIDTH - LEFT - RIGHT);
  const height = TOP + variants.length * ROW + 10;
  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((value) => [
    svg("line", { class: "grid-line", x1: at(value), x2: at(value), y1: TOP, y2: height - 6 }),
    svg("text", { class: "tick", x: at(value), y: 12, "text-anchor": "middle" }, String(value)),
  ]);
  const rows = variants.flatMap((variant, place) => {
    const y = TOP + place * ROW + ROW / 2;
    const own = variant.overall?.[mark];
    const kind = variant.name === configured ? "in-force" : "other";
    const label = svg("text", { class: `variant ${kind}`, x: LEFT - 12, y: y + 4, "text-anchor": "end" },
      variant.name);
    if (!own) {
      return [label, svg("text", { class: "tick", x: at(0) + 6, y: y + 4 }, "did not run")];
    }
    return [
      label,
      svg("line", {
        class: `interval ${kind}`, x1: at(own.low), x2: at(own.high), y1: y, y2: y,
        "data-variant": variant.name, "data-low": own.low, "data-high": own.high,
      }),
      svg("circle", {
        class: `mean ${kind}`, cx: at(own.mean), cy: y, r: 5.5,
        "data-variant": variant.name, "data-mean": own.mean,
      }),
      svg("text", { class: "value numbers", x: WIDTH - RIGHT + 14, y: y + 4 }, own.mean.toFixed(2)),
    ];
  });
  return svg("svg", {
    class: "chart", viewBox: `0 0 ${WIDTH} ${height}`, role: "img",
    "aria-label": `${name} by way of searching; the table below has the numbers`,
  }, ...grid, ...rows);
}
