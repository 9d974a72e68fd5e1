/* What the explorer tried, as a picture: fetched by who unfolds it. */

import { colour } from "./ladder.js";
import { fill, h, svg } from "./ladder-parts.js";

/* A square for each state, a block for each step further from the start, coloured by the newest
   version; the last one of a broken order is red. Of many states each block is one shape, in the colour of the version
   that most of its states have: as large as its squares would be. */
const SQUARE = 8, STEP = 10, TALL = 1.4, SQUARES_MAX = 3000;
export function tried(answer, data, order) {
  const versions = [data.ground, ...order.map((at) => data.tiles[at]).filter((tile) => !tile.isWork)];
  const shapes = answer.tried.map((counts) => counts.reduce((sum, one) => sum + one, 0)).map((total) => ({ total, wide: Math.max(Math.ceil(Math.sqrt(total / TALL)), 1) })).map((one) => ({ ...one, high: Math.ceil(one.total / one.wide) }));
  const most = Math.max(...shapes.map((one) => one.high), 1), rects = [];
  const areMany = shapes.reduce((sum, one) => sum + one.total, 0) >= SQUARES_MAX;
  let x = 1;
  answer.tried.forEach((counts, depth) => {
    const { total, wide, high } = shapes[depth], top = 1 + ((most - high) / 2) * STEP, hasBad = answer.verdict === "violated" && depth === answer.tried.length - 1;
    const block = (n, across, down, version, isBad) => rects.push(svg("rect", { x: x + Math.floor(n / high) * STEP, y: top + (n % high) * STEP, width: across * STEP - STEP + SQUARE, height: down * STEP - STEP + SQUARE, rx: 1.5, class: isBad ? "bad" : "", "data-state": colour(versions[version] ?? data.ground) }));
    if (areMany) {
      block(0, wide, high, counts.indexOf(Math.max(...counts)), false);
      if (hasBad) block(total - 1, 1, 1, counts.length - 1, true);
    } else {
      let n = 0;
      counts.forEach((many, version) => { for (let i = 0; i < many; i += 1, n += 1) block(n, 1, 1, version, hasBad && n === total - 1); });
    }
    x += wide * STEP + 6;
  });
  const words = fill(data.words.blocks, { states: answer.states.toLocaleString(document.documentElement.lang), blocks: answer.tried.length });
  const picture = svg("svg", { viewBox: `0 0 ${x} ${most * STEP + 2}`, class: "tried", role: "img", "aria-label": words }, ...rects);
  picture.style.maxWidth = `${x * 1.4}px`;
  return h("figure", { class: "tried-box" }, picture, h("figcaption", { class: "small muted" }, words));
}
