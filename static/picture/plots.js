/* Statements a second and latencies, second by second, on the axis of the lanes. A second that nobody recorded is a gap. */

import { add } from "./svg.js";
import { axis, edges } from "./lanes.js";

const GAP_S = 2.5, HIGH = 72, TOP = 8, LONE = 4; // a second whose neighbours have no figure is a dash: a point cannot be seen

/** `curves` are [class, figure] of a second. `each`: so many seconds are one where there are very many. */
export function plot(root, { seconds, each, works, curves, units, view, width, words, label, end, lookedAt }) {
  if (!width) return;
  const [left, right] = edges(width), { X } = axis(view, left, right), folds = view.stretches.filter((one) => one[2]);
  const shown = seconds.filter((one) => one.at >= view.from && one.at <= view.to && !folds.some(([a, b]) => a < one.at && one.at < b));
  const most = Math.max(0, ...curves.flatMap(([, of]) => shown.map((one) => of(one) ?? 0))), Y = (value) => TOP + (HIGH - TOP) * (1 - (most ? value / most : 0));
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [key, value] of Object.entries({ viewBox: `0 0 ${width} ${HIGH + 2}`, role: "img", "aria-label": label })) svg.setAttribute(key, value);
  for (const work of works) {
    const x = X(work.began);
    if (work.began > view.to || (work.ended ?? Infinity) < view.from) continue;
    add(svg, "rect", { class: "band", x, y: 0, width: Math.max(2, X(work.ended ?? end) - x), height: HIGH });
    if (words) add(svg, "text", { class: "small quiet halo", x: x + 4, y: HIGH - 5 }, words.replace("{n}", work.change));
  }
  add(svg, "path", { class: "grid", d: `M${left} ${HIGH}H${right}` });
  for (const [kind, of] of curves) {
    let line = [], last = null;
    const drawn = () => {
      if (line.length === 1) line.push([line[0][0] + LONE, line[0][1]]);
      if (line.length) add(svg, "polyline", { class: kind, points: line.map((point) => point.map((one) => one.toFixed(1)).join()).join(" ") });
      line = [];
    };
    for (const one of shown) {
      if (of(one) === null || (last !== null && (one.at - last > GAP_S * each || folds.some(([a, b]) => last <= a && b <= one.at)))) drawn();
      if (of(one) !== null) line.push([X(one.at), Y(of(one))]);
      last = one.at;
    }
    drawn();
  }
  if (most) add(svg, "text", { class: "small quiet halo", x: 6, y: TOP + 8 }, units(most));
  if (lookedAt !== null) add(svg, "path", { class: "now-line", d: `M${X(lookedAt)} 0V${HIGH}` });
  root.replaceChildren(svg);
}
