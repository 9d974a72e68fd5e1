/* Which node used which version, in true time: a wait of eleven seconds is eleven times as wide as a second.

     waits, work   |--- waited 11 s for n3: open transaction of report-17 ---|   fill
     n1   v2: absent  [v3: delete-only     ]
     n2   ...
          12:00:00        12:00:10

   A stretch of 30 s or more in which nothing happens to anybody is folded: the torn edge is for that alone. */

import { GLYPHS, add, icons, part, set, show } from "./svg.js";

const SLIVER = 7, FOLD_S = 30, KEEP_S = 2, FRESH_S = 20, LANES_MAX = 8, TEAR = 34, TOP = 68, LANE = 38, BAR = 17, COUNT = 34, SLIM = 640;
const ROUND = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800];
const isChinese = (text) => /[\u4e00-\u9fff]/.test(text);

/** The window of a change or a table; while it lasts, until the leases that are waited for can expire. */
export function around(histories, { start, end, is_live }) {
  const waits = is_live ? histories.map((history) => history.wait(end)).filter(Boolean) : [];
  return stretched(histories, start, Math.max(end, ...waits.map((wait) => wait.use.until + 1)), end);
}

export const zoomed = ([from, to]) => ({ from, to, stretches: [[from, to, false]] });

/** A stretch of 30 s or more in which nothing happens to anybody is folded. */
export function stretched(histories, from, to, now, also = []) {
  const busy = [[from, from + KEEP_S], [now - FRESH_S, to], ...also];
  for (const { works, downs, versions, uses, marks } of histories) {
    for (const work of works) busy.push([work.began, work.ended ?? now]);
    for (const down of downs) busy.push([down.from, down.to ?? now]);
    for (const mark of marks) busy.push([mark.at, mark.at]);
    versions.forEach((version, i) => { if (i) busy.push([version.at, Math.max(version.at, ...uses.filter((use) => use.version < version.version && use.began <= version.at).map((use) => use.ended ?? now))]); });
  }
  busy.sort((a, b) => a[0] - b[0]);
  const stretches = []; let at = from;
  for (const [begins, ends] of busy) {
    if (begins - KEEP_S - (at + KEEP_S) >= FOLD_S) stretches.push([stretches.at(-1)?.[1] ?? from, at + KEEP_S, false], [at + KEEP_S, begins - KEEP_S, true]);
    at = Math.max(at, Math.min(ends, to));
  }
  stretches.push([stretches.at(-1)?.[1] ?? from, to, false]);
  return { from, to, stretches };
}

/** Times of a window as places from `left` to `right`: true time, but for its folds. */
export function axis({ stretches }, left, right) {
  const tears = stretches.filter((one) => one[2]).length, seconds = stretches.reduce((sum, [a, b, folded]) => sum + (folded ? 0 : b - a), 0), scale = (right - left - tears * TEAR) / seconds;
  let x = left;
  const places = stretches.map(([a, b, folded]) => { const one = { a, b, folded, x, width: folded ? TEAR : (b - a) * scale }; x += one.width; return one; });
  return { scale, places, X: (time) => {
    if (time <= places[0].a) return left;
    const one = places.find((place) => time <= place.b) ?? places.at(-1);
    return one.x + ((Math.min(time, one.b) - one.a) / (one.b - one.a)) * one.width;
  } };
}

/** The left and right edge of what is drawn on a page so wide. */
export const edges = (width) => [width < SLIM ? 34 : 110, width - 6];

export class Lanes {
  /** Letters are `scale` times as large as written: larger on a projector. */
  constructor(root, words, zoomTo, most = LANES_MAX) { Object.assign(this, { root, words, zoomTo, most, width: 0, scale: 1 }); }

  /** Drawn whole each time: some hundred elements, once a second while the publisher waits or work goes on. */
  draw(history, t, { now, label, clock, view, names = {} }) {
    this.width ||= Math.floor(this.root.clientWidth / this.scale); // asking for it each time would lay out the page each time
    if (!this.width) return;
    const W = this.words, w = this.width, isSlim = w < SLIM, [left, right] = edges(w), nodes = history.nodes(t).slice(0, this.most), top = TOP + history.counts.length * COUNT, bottom = top + nodes.length * LANE, h = bottom + 22;
    const { X, scale, places } = axis(view, left, right), end = Math.min(t, view.to);
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), focus = document.activeElement?.closest?.("svg")?.parentNode === this.root ? document.activeElement.dataset.what : null;
    for (const [key, value] of Object.entries({ viewBox: `0 0 ${w} ${h}`, role: "group", "aria-label": W.lanes })) svg.setAttribute(key, value);
    add(svg, "text", { x: 4, y: 34, class: isSlim ? "small quiet" : "bold" }, isSlim ? W.waitsShort : W.waitsWork);
    nodes.forEach((name, i) => {
      add(svg, "rect", { class: "row", x: 0, y: top + i * LANE, width: w, height: LANE - 4, rx: 4 });
      const text = add(svg, "text", { x: 6, y: top + i * LANE + 23, class: "bold" }, names[name] ?? name);
      if (text.textContent.length > (isSlim ? 4 : 13)) { text.setAttribute("textLength", left - 10); text.setAttribute("lengthAdjust", "spacingAndGlyphs"); }
    });
    const step = ROUND.find((one) => one * scale > (isSlim ? 74 : 84)) ?? 3600;
    const note = isSlim ? "" : W.scale.replace("{s}", step < 60 ? `${step} s` : `${step / 60} min`), free = Math.max(left + 24, 4 + note.length * (isChinese(note) ? 12 : 6.4) + 34);
    for (const place of places) {
      if (place.folded) {
        const g = part(svg, `fold ${Math.round(place.b - place.a)}`, "fold");
        add(g, "rect", { class: "hit", x: place.x, y: TOP - 22, width: TEAR, height: bottom - TOP + 30 });
        for (const dx of [12, 18]) add(g, "path", { d: `M${place.x + dx} ${TOP - 4}${Array.from({ length: Math.ceil((bottom - TOP) / 8) }, (_, k) => `l${k % 2 ? -4 : 4} 8`).join("")}` });
        const middle = place.x + TEAR / 2, beside = Math.min(middle - left + 20, ...history.versions.map((one) => Math.abs(X(one.at) - middle))), span = this.#span(place.b - place.a);
        add(g, "text", { x: middle, y: TOP - 9, class: "small quiet mid" }, beside < 34 ? "" : isSlim || beside < 66 ? span : W.folded.replace("{s}", span));
      } else for (let s = Math.ceil(place.a / step) * step; s <= place.b; s += step) {
        add(svg, "path", { class: "grid", d: `M${X(s)} ${TOP}V${bottom}` });
        if (X(s) > free && X(s) < w - 30) add(svg, "text", { x: X(s), y: bottom + 16, class: "small quiet mid" }, step % 60 ? clock(s) : clock(s).slice(0, 5));
      }
    }
    add(svg, "text", { x: 4, y: bottom + 16, class: "small quiet" }, note);
    const waits = history.waits(end).filter((wait) => (wait.to ?? end) > view.from && wait.from < view.to), within = (from, to) => [Math.max(X(from), left), Math.max(X(Math.min(to ?? end, end)), left)];
    history.counts.forEach((count, i) => this.#count(svg, history, count, TOP + i * COUNT, { X, end }));
    for (const wait of waits) {
      const i = nodes.indexOf(wait.node), [x, right] = within(wait.from, wait.to), g = part(svg, `wait ${wait.version}`, "wait");
      if (i >= 0) add(g, "rect", { class: "tint", x, y: 42, width: Math.max(1, right - x), height: top - 42 + i * LANE + LANE - 4 });
      add(g, "path", { class: "bracket", d: `M${x} 42V26H${right}${wait.to === null ? "" : "V42"}` });
      const s = Math.floor((wait.to ?? end) - wait.from), words = (wait.to === null ? W.waits : W.waited).replace("{s}", s).replace("{node}", names[wait.node] ?? wait.node), text = add(g, "text", { y: 17 }, isSlim ? words : `${words}${this.#why(wait)}`);
      text.setAttribute("x", String(x)); g.setAttribute("role", "button"); g.setAttribute("aria-label", text.textContent);
      g.onclick = () => this.zoomTo([wait.from - 2, (wait.to ?? now) + 3]);
      g.onkeydown = (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); g.onclick(); } };
      Object.assign(wait, { text, words });
    }
    this.#works(svg, history, end, view, within, waits);
    const shown = history.published(end).filter((one) => one.at > view.from);
    for (const [i, version] of shown.entries()) {
      const x = X(version.at); add(svg, "path", { class: "published", d: `M${x} 62V${bottom}` });
      if (i + 1 < shown.length && X(shown[i + 1].at) - x < 30) continue; // its number would lie under the next one's
      const g = add(svg, "g", { class: `chip s-${version.phase}` }); const number = `v${version.version}`, wide = 7.4 * number.length + 10;
      add(g, "rect", { class: "base", x: x - wide / 2, y: 48, width: wide, height: 17, rx: 5 }); add(g, "text", { x, y: 61, class: "mid", "font-size": 12 }, number);
    }
    for (const use of history.uses) if (use.began <= end && (use.ended ?? Infinity) > view.from && nodes.includes(use.node)) this.#use(svg, history, use, top + nodes.indexOf(use.node) * LANE, { X, within, end, waits, label, clock, isSlim, w, now });
    for (const down of history.downs) {
      const i = nodes.indexOf(down.node);
      if (i < 0 || down.from > end || (down.to ?? Infinity) < view.from) continue;
      const [x, right] = within(down.from, down.to), g = part(svg, `down ${down.node}`, "", false);
      add(g, "rect", { class: "gap", x, y: top + i * LANE, width: Math.max(2, right - x), height: LANE - 4, rx: 3 });
      const isBelow = history.using(Math.max(down.from, view.from), down.node).some((use) => use.version % 2); // beside the bar, not on it
      if (right - x > 40) add(g, "text", { class: "small bold fell", x: x + 8, y: top + i * LANE + (isBelow ? 31 : 14) }, W[down.kind] ?? down.kind);
    }
    for (const mark of history.marks.filter((one) => nodes.includes(one.node) && one.at >= view.from && one.at <= end)) {
      const x = X(mark.at), y = top + nodes.indexOf(mark.node) * LANE, words = W[mark.kind], isLate = x > w - 130, sides = isLate ? [x - 100, x] : [x, x + 100];
      const taken = history.uses.filter((use) => use.node === mark.node && use.began <= end && X(use.began) < sides[1] && X(use.ended ?? end) > sides[0]).map((use) => use.version % 2);
      const g = part(svg, `mark ${mark.kind}`, "", false), isFree = [1, 0].find((track) => !taken.includes(track));
      add(g, "path", { class: "mark", d: `M${x} ${y}v${LANE - 4}` }); add(g, "rect", { class: "hit", x: x - 4, y, width: 8, height: LANE - 4 });
      if (isFree !== undefined) add(g, "text", { class: `small bold halo${isLate ? " end" : ""}`, x: x + (isLate ? -5 : 5), y: y + (isFree ? 14 : 31) }, words);
    }
    if (t >= view.from && t <= view.to) add(svg, "path", { class: "now-line", d: `M${X(t)} 66V${bottom}M${X(t) - 5} ${bottom + 5}h10l-5 -8z` });
    this.root.replaceChildren(svg);
    const taken = []; // the wait under way has its words, then the longer one: in short where they do not fit, none where those do not
    for (const wait of waits.toSorted((a, b) => (b.to === null) - (a.to === null) || b.to - b.from - (a.to - a.from))) {
      const { text } = wait, fits = (words) => {
        const width = words.length * (isChinese(words) ? 13 : 8.2), x = Math.max(0, Math.min(Number(text.getAttribute("x")), w - width - 4));
        return taken.every(([from, to]) => x >= to || x + width + 12 <= from) && [x, x + width + 12];
      };
      const words = [text.textContent, wait.words].find(fits);
      if (!words) { text.remove(); continue; }
      const [x, until] = fits(words);
      taken.push([x, until]); text.setAttribute("x", x); text.textContent = words;
    }
    if (focus) [...this.root.querySelectorAll("[data-what]")].find((one) => one.dataset.what === focus)?.focus({ preventScroll: true });
  }

  /** How many of many nodes used a version: as high as their share. */
  #count(svg, history, count, y, { X, end }) {
    const phase = history.version(count.version)?.phase ?? "public", most = Math.max(...history.counts.map((one) => one.most)), high = (n) => y + (COUNT - 4) * (1 - n / most);
    const steps = count.steps.filter(([at]) => at <= end), first = steps[0]?.[0];
    if (first === undefined) return;
    const last = steps.at(-1)[1] ? end : steps.at(-1)[0];
    const g = add(svg, "g", { class: `chip s-${phase}` }), d = `M${X(first)} ${high(0)}${steps.map(([at, n]) => `H${X(at)}V${high(n)}`).join("")}H${X(last)}V${high(0)}Z`;
    for (const kind of ["base", "over"]) add(g, "path", { class: kind, d, ...(kind === "over" ? { fill: `url(#look-${phase})` } : {}) });
    add(svg, "text", { class: "small bold halo", x: 6, y: y + 20 }, this.words.nodesAtMost.replace("{n}", count.most).replace("{version}", `v${count.version}`));
  }

  #span(s) { return s < 180 ? `${Math.round(s)} s` : `${Math.round(s / 60)} min`; }
  #why(wait) {
    const W = this.words;
    return wait.who ? W.whyHeld.replace("{who}", wait.who) : wait.down ? W.whyDown.replace("{kind}", W[wait.down.kind] ?? wait.down.kind) : "";
  }

  #works(svg, history, end, view, within, waits) {
    const W = this.words;
    for (const run of history.runs.filter((one) => one.began <= end && (one.ended ?? Infinity) > view.from)) {
      const [x, right] = within(run.began, run.ended), width = Math.max(3, right - x), told = history.work(end), isOne = told && told.kind === run.kind && run.ended === null;
      const g = part(svg, `work ${run.kind}`, `chip s-${run.kind === "fill" ? "reorganising" : "work"}`);
      for (const kind of ["base", "over"]) add(g, "rect", { class: kind, x, y: 24, width, height: 18, rx: 3, ...(kind === "over" ? { fill: run.kind === "fill" ? "url(#look-reorganising)" : "none" } : {}) });
      const words = `${W[`work${run.kind}`] ?? run.kind}${isOne && told.total ? ` ${told.percent} %` : ""}`;
      if (width <= words.length * 7.5 + 8 && width > 18) add(g, "use", { href: `${icons}#${run.kind === "fill" ? "slashes" : run.kind === "verify" ? "search-check" : run.kind === "delete" ? "minus" : "refresh-cw"}`, x: x + width / 2 - 6, y: 27, width: 12, height: 12 });
      if (width > words.length * 7.5 + 8) add(g, "text", { x: x + 6, y: 38, "font-size": 12.5 }, words);
    }
  }

  /** A use too short for its words has its version beside it, where the track is free. */
  #mark(g, history, use, { X, x, y }) {
    const words = `v${use.version}`, after = history.uses.filter((one) => one.node === use.node && one.version > use.version && (one.version - use.version) % 2 === 0);
    if (Math.min(Infinity, ...after.map((one) => X(one.began))) - x > 8 * words.length + 6) add(g, "text", { class: "free", x: x + 4, y: y + 13, "font-size": 12.5 }, words);
  }

  #use(svg, history, use, y0, { X, within, end, waits, label, clock, isSlim, w, now }) {
    const W = this.words, version = history.version(use.version), phase = version?.phase ?? "public", y = y0 + (use.version % 2 ? 0 : 18), [x, right] = within(use.began, use.ended), width = Math.max(SLIVER, right - x);
    const g = part(svg, `use ${use.node} ${use.version}`, `chip s-${phase}`, false), wait = waits.find((one) => one.use === use), fell = history.downs.find((down) => down.node === use.node && down.from > use.began && down.from < Math.min(use.ended ?? end, end));
    for (const kind of ["base", "over"]) add(g, "rect", { class: kind, x, y, width, height: BAR, rx: 3, ...(kind === "over" ? { fill: `url(#look-${phase})` } : {}) });
    const from = wait ? Math.max(x, X(wait.from)) : 0, to = wait ? X(Math.min(wait.to ?? end, end)) : 0, room = Math.min(wait ? from : right, fell ? X(fell.from) : right) - x;
    if (room > 18) add(g, "use", { href: `${icons}#${GLYPHS[phase]}`, x: x + 4, y: y + 3, width: 11, height: 11 });
    const words = `v${use.version}: ${label(version?.of, phase, version?.name)}`, text = room > words.length * (isChinese(words) ? 11.5 : 6.7) + 26 ? words : room > 46 ? `v${use.version}` : "";
    if (text) add(g, "text", { x: x + 19, y: y + 13, "font-size": 12.5 }, text);
    else this.#mark(g, history, use, { X, x: x + width, y });
    if (!wait) return;
    add(g, "rect", { class: "hold", x: from, y, width: Math.max(0, to - from), height: BAR, rx: 3 });
    const held = wait.who ?? `v${use.version}`;
    if (to - from > held.length * 7 + 16) add(g, "text", { x: from + 8, y: y + 13, "font-size": 12.5 }, held);
    if (wait.to !== null || end < now - 1) return;
    const last = X(use.until), most = part(svg, `atmost ${use.node} ${use.version}`, "", false); add(most, "rect", { class: "hit", x: right, y, width: Math.max(0, last - right), height: BAR }); add(most, "path", { class: "atmost", d: `M${right} ${y + 1}H${last}V${y + BAR - 1}H${right}` });
    if (!isSlim && last - right > 190) add(most, "text", { class: "small halo", x: right + 8, y: y + 13 }, W.atMost.replace("{t}", clock(use.until)));
  }
}
