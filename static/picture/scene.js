/* The cluster at a moment: the rack of versions, the publisher, nodes with their clients, and the store below all.

     SQL, legend   [ older | newer ] door   next card  publisher
       clients  n1        clients  n2        clients  n3
     ------------------------- store ---------------------------

   Elements are made once for a set of nodes and storages; `draw` sets what differs. */

import { isOpen } from "./present.js";
import { add, card, icons, move, part, set, show } from "./svg.js";

const NODES_MAX = 6, DOTS = 2, LOOP_MS = 2200, WIDE_PX = 1150;
const clamp = (x, low, high) => Math.max(low, Math.min(high, x));
export const many = (number) => Math.round(number).toLocaleString("en");

function wide(count) {
  const cell = 1392 / count, width = Math.min(288, cell * 0.64);
  return {
    w: 1392, h: 470, frame: [404, 28, 440, 108], slots: [[418, 40], [630, 40]], size: [200, 60], hand: [868, 40], who: [1130, 72, 32],
    node: [width, 128], at: (i) => [i * cell + cell - width - 6, 204], band: 30, bus: 368, store: [6, 386, 1380, 80], rows: [70, 200], letters: [46, 60], text: 15,
    client: (at, k) => [at[0] - 84, at[1] + 26 + k * 27], storage: (i, n) => [150 + (i * 1226) / n, 390, 1226 / n],
  };
}
/** On a tablet: as wide, with larger letters. */
function middle(count) {
  const cell = 1100 / count, width = Math.min(288, cell * 0.64);
  return {
    ...wide(count), w: 1100, frame: [300, 28, 440, 108], slots: [[314, 40], [526, 40]], hand: [764, 40], who: [1016, 72, 32], letters: [37, 45], text: 14,
    node: [width, 128], at: (i) => [i * cell + cell - width - 6, 204], store: [6, 386, 1088, 80], storage: (i, n) => [140 + (i * 950) / n, 390, 950 / n],
  };
}
function slim(count) {
  const width = 366 / count - 6;
  return {
    w: 366, h: 536, frame: [1, 24, 206, 94], slots: [[8, 34], [108, 34]], size: [92, 50], hand: [214, 36], who: [338, 64, 18], slim: true,
    node: [width, 116], at: (i) => [i * (width + 9), 176], band: 28, bus: 374, store: [0, 388, 366, 146], rows: [44, 112],
    client: (at, k) => [at[0] + 9 + k * 19, at[1] + 172], storage: (i) => [6, 410 + i * 60, 354],
  };
}

export class Scene {
  constructor(root, words) { Object.assign(this, { root, words, key: "", resized: true }); }

  /** Made anew where nodes, storages or the width differ. */
  #build(nodes, storages, isSlim) {
    const isMiddle = this.width < WIDE_PX, key = [nodes, storages, isSlim, isMiddle].join();
    if (key === this.key) return;
    this.key = key; this.dotKey = ""; this.nodes = nodes.slice(0, NODES_MAX);
    const G = (this.G = (isSlim ? slim : isMiddle ? middle : wide)(Math.max(this.nodes.length, 1))), W = this.words;
    const view = { viewBox: `0 0 ${G.w} ${G.h}` };
    this.root.replaceChildren();
    const under = add(this.root, "svg", { ...view, class: "under", "aria-hidden": "true" });
    this.dots = document.createElement("div"); this.dots.className = "statements"; this.root.append(this.dots);
    const svg = (this.svg = add(this.root, "svg", { ...view, role: "group", "aria-label": W.scene }));
    this.beam = add(svg, "path", { class: "beam" });
    this.#rack(svg, isSlim);
    this.links = this.nodes.map(() => [0, 1, 2].map(() => add(under, "path", { class: "pipe" })));
    const outs = this.nodes.map((_, i) => this.out(i));
    this.pipes = outs.map(([x, y]) => add(under, "path", { class: "pipe out", d: `M${x} ${y}V${G.bus}` })); this.bus = add(under, "path", { class: "pipe" });
    this.boxes = this.nodes.map((name, i) => this.#node(svg, name, G.at(i)));
    this.#store(svg, storages, isSlim);
    this.news = add(svg, "g", { "aria-hidden": "true" });
    this.pill = add(svg, "g", { class: "label-pill" }); this.pillBox = add(this.pill, "rect", { height: 26, y: -18, rx: 13 }); this.pillText = add(this.pill, "text", {});
    this.cards = new Map(); this.seen = null;
  }

  out(i) { const [x, y] = this.G.at(i), [w, h] = this.G.node; return [x + w / 2, y + h]; }

  #rack(svg, isSlim) {
    const G = this.G, [x, y, w, h] = G.frame, rack = part(svg, "rack"), W = this.words;
    add(rack, "rect", { class: "frame", x, y, width: w, height: h, rx: 12 });
    this.count = add(rack, "text", { x: x + 4, y: y - 8, class: "bold" });
    for (const [sx, sy] of G.slots) add(rack, "rect", { class: "slot", x: sx, y: sy, width: G.size[0], height: G.size[1], rx: 9 });
    this.door = add(rack, "path", { d: `M${x + w} ${y + 18}V${y + h - 18}` });
    this.cardsIn = add(svg, "g");
    const [px, py, r] = G.who, who = part(svg, "publisher");
    add(who, "rect", { class: "hit", x: px - r - 6, y: py - r - 10, width: 2 * r + 12, height: 2 * r + 44 });
    this.arm = add(who, "path", { class: "arm" });
    this.body = add(who, "g", { class: "body" });
    add(this.body, "path", { d: `M${px - r} ${py + 2 * r - 12}a${r} ${r} 0 0 1 ${2 * r} 0z` }); add(this.body, "circle", { cx: px, cy: py - 6, r: r - 4 });
    this.eyes = [-1, 1].map((side) => { const at = [px + side * r * 0.36, py - 8]; add(who, "circle", { class: "eye", cx: at[0], cy: at[1], r: r * 0.28 }); return { at, pupil: add(who, "circle", { class: "pupil", r: r * 0.14 }) }; });
    add(who, "text", { x: px, y: py + r + 36, class: "mid small quiet" }, W.publisher);
    if (isSlim) return;
    this.sql = part(svg, "change"); add(this.sql, "rect", { class: "hit", x: 0, y: 20, width: G.frame[0] - 20, height: 106 });
    this.title = add(this.sql, "text", { x: 2, y: 38, class: "bold" }); this.lines = [62, 82].map((at) => add(this.sql, "text", { x: 2, y: at, class: "mono" }));
    const legend = add(svg, "g"); let lx = 6;
    for (const [kind, text] of [["read", W.read], ["write", W.write], ["entry", W.entry]]) {
      if (kind === "entry") add(legend, "rect", { class: "entry", width: 9, height: 9, x: lx - 4, y: 142 }); else add(legend, "circle", { class: `dot ${kind}`, cx: lx, cy: 146, r: 5 });
      lx += 14 + add(legend, "text", { x: lx + 12, y: 151, class: "small quiet" }, text).getComputedTextLength() + 22;
    }
    this.runs = add(svg, "text", { x: 2, y: 176, class: "small bold" });
    this.meaning = [104, 120].map((at) => add(this.sql, "text", { x: 2, y: at, class: "small quiet" }));
  }

  #node(svg, name, at) {
    const G = this.G, [w, h] = G.node, own = { at, bands: new Map() };
    own.session = part(svg, `session ${name}`, "session");
    own.cord = add(own.session, "path", { class: "cord" }); own.sessionBox = add(own.session, "rect", { class: "base", height: 25, rx: 4 }); own.sessionText = add(own.session, "text", { class: "mid bold small" });
    const clients = (own.clients = part(svg, `clients ${name}`, "clients"));
    for (let k = 0; k < 3; k += 1) { const [cx, cy] = G.client(at, k); add(clients, "circle", { class: "client", cx, cy, r: 8 }); }
    if (!G.slim) add(clients, "text", { x: at[0] - 84, y: at[1] + 8, class: "small quiet mid" }, this.words.clients);
    const g = (own.g = part(svg, `node ${name}`, "node"));
    add(g, "rect", { class: "box", x: at[0], y: at[1], width: w, height: h, rx: 10 });
    for (const row of [0, 1]) add(g, "rect", { class: "slot plain", x: at[0] + 6, y: at[1] + 30 + row * (G.band + 5), width: w - 12, height: G.band, rx: 8 });
    add(g, "text", { x: at[0] + 11, y: at[1] + 22, class: "bold", "font-size": 18 }, name);
    own.rate = add(g, "text", { x: at[0] + w - 10, y: at[1] + 21, class: "small quiet end" });
    own.ring = add(g, "circle", { class: "ring", cx: at[0] + 18, cy: at[1] + h - 13, r: 8 });
    own.left = add(g, "circle", { class: "ring left", cx: at[0] + 18, cy: at[1] + h - 13, r: 8, pathLength: 100, transform: `rotate(-90 ${at[0] + 18} ${at[1] + h - 13})` });
    own.foot = add(g, "text", { x: at[0] + (G.slim ? 6 : 34), y: at[1] + h - 8, class: "small foot" });
    return own;
  }

  #store(svg, count, isSlim) {
    const G = this.G, [x, y, w, h] = G.store, W = this.words, store = part(svg, "store");
    add(store, "rect", { class: "box", x, y, width: w, height: h, rx: 12 });
    if (isSlim) add(store, "text", { x: 10, y: y + 17, class: "bold small" }, W.store.replaceAll("|", " "));
    else W.store.split("|").forEach((line, i) => add(store, "text", { x: x + 16, y: y + 26 + 19 * i, class: i ? "" : "bold" }, line));
    this.stores = Array.from({ length: count }, (_, i) => {
      const [sx, sy, sw] = G.storage(i, count), g = part(svg, `storage ${i + 1}`), bar = [sx + G.rows[0] + (isSlim ? 70 : 140), isSlim ? 108 : Math.max(60, sw - G.rows[0] - 290)];
      add(g, "rect", { class: "hit", x: sx, y: sy, width: sw - 8, height: 60 });
      add(g, "use", { href: `${icons}#database`, x: sx + 6, y: sy + 12, width: 26, height: 26 }); add(g, "text", isSlim ? { x: sx + 10, y: sy + 52, class: "bold small" } : { x: sx + 38, y: sy + 32, class: "bold" }, `s${i + 1}`);
      return (isSlim ? [0, 1] : [0, 1, 2]).map((row) => {
        const ry = sy + 3 + row * 24, line = { name: add(g, "text", { x: sx + G.rows[0], y: ry + 14, class: "small" }), track: add(g, "rect", { class: "track", x: bar[0], y: ry + 2, width: bar[1], height: 15, rx: 3 }) };
        line.fill = add(g, "g", {}); line.rects = ["base", "over"].map((kind) => add(line.fill, "rect", { class: kind, x: bar[0], y: ry + 2, height: 15, rx: 3 }));
        line.number = add(g, "text", { x: bar[0] + bar[1] + 8, y: ry + 14, class: "small" });
        return Object.assign(line, { width: bar[1] });
      });
    });
  }

  draw(history, t, { isSlim, isLive, calm, label, what, clock, left }) {
    const nodes = history.nodes(t), pulse = history.pulse(t), state = history.state(t);
    if (this.resized) { this.width = this.root.clientWidth; this.resized = false; } // asking for it each time would lay out the page each time
    this.#build(nodes, history.storages(), isSlim);
    const G = this.G, W = this.words, wait = history.wait(t), work = history.work(t), using = history.using(t), change = state?.change?.status && isOpen(state.change) ? state.change : null;
    this.#drawRack(history, t, using, change, wait, label, what);
    this.#drawPublisher(wait, work, change, t);
    this.nodes.forEach((name, i) => this.#drawNode(history, t, name, i, { using, wait, pulse, label, left }));
    this.#drawStore(pulse, label, history);
    this.#drawTraffic(pulse, t, history, calm, isLive);
  }

  #drawRack(history, t, using, change, wait, label, what) {
    const G = this.G, W = this.words, published = history.published(t), newest = published.at(-1), used = new Set(using.map((use) => use.version));
    const next = change?.next.find((one) => one.kind === "publish"), upcoming = next && !history.version(next.version)?.at ? next : next && history.version(next.version).at > t ? next : null;
    const places = new Map();
    if (newest) places.set(newest.version, [...G.slots[1], 1]);
    const older = published.slice(0, -1).filter((one) => used.has(one.version)).at(-1);
    if (older) places.set(older.version, [...G.slots[0], 1]);
    const third = published.slice(0, -1).filter((one) => used.has(one.version) && one !== older).at(-1);
    if (third) places.set(third.version, [G.slots[0][0] - G.size[0] - 30, G.slots[0][1], 1]);
    if (upcoming) places.set(upcoming.version, [...G.hand, 1]);
    for (const [version, [x, y]] of places) {
      if (!this.cards.has(version)) {
        const g = part(this.cardsIn, `version ${version}`, "flies"), chip = card(g, ...G.size, G.slim ? 16 : 19), tokens = add(g, "g"), who = add(g, "text", { class: "small bold" });
        this.cards.set(version, { g, chip, tokens, who, byNode: new Map() });
        set(g, { move: move(x + 40, y), opacity: 0 }); g.getBoundingClientRect();
      }
      const { g, chip, tokens, who, byNode } = this.cards.get(version), is = history.version(version), phase = is && is.at <= t ? is.phase : upcoming?.state ?? "absent";
      set(g, { move: move(x, y), opacity: 1, visibility: "visible" });
      chip.paint(phase, `v${version}`, G.slim ? "" : label(is?.of || newest?.of, phase));
      const mine = this.nodes.filter((node) => using.some((use) => use.version === version && use.node === node));
      for (const [node, token] of byNode) show(token, mine.includes(node));
      set(who, { x: 10 + 32 * mine.length, y: G.size[1] + 23, text: wait?.who && version === wait.held && mine.length < 4 && !G.slim ? short(wait.who, 22 - 4 * mine.length) : "" });
      mine.slice(0, 6).forEach((node, i) => {
        if (!byNode.has(node)) { const token = add(tokens, "g", { class: "token" }); add(token, "circle", { r: 12 }); add(token, "text", { y: 4 }, node); byNode.set(node, token); }
        const blocks = wait?.node === node && version <= wait.held;
        set(byNode.get(node), { move: move((G.slim ? 14 : 18) + i * (G.slim ? 26 : 32), G.size[1] + (G.slim ? 16 : 19)), class: `token${blocks ? " holds" : ""}${history.down(t, node) ? " dead" : ""}`, visibility: "visible" });
      });
    }
    for (const [version, one] of this.cards) if (!places.has(version)) { set(one.g, { opacity: 0, move: move(G.slots[0][0] - 60, G.slots[0][1]), visibility: "hidden" }); set(one.who, { text: "" }); for (const token of one.byNode.values()) show(token, false); }
    this.inHand = upcoming;
    set(this.count, { text: (!used.size && newest ? W.inUseNone : used.size < 2 ? W.inUse : G.slim ? W.inUseSlim : W.inUseFull).replace("{n}", used.size || (newest?.version ?? 0)), class: `bold${used.size > 2 ? " alarm" : ""}` });
    set(this.door, { class: used.size > 1 ? "door shut" : "door" });
    if (G.slim) return; // its words stand above the picture
    const told = history.state(t)?.change, sql = change ? change.statement : told ? told.statement : "";
    set(this.title, { text: !told ? "" : change ? W.change.replace("{n}", told.id) : W.changeDone[told.status]?.replace("{n}", told.id) ?? W.change.replace("{n}", told.id) });
    const [one, two] = cut(sql, G.letters[0]);
    set(this.lines[0], { text: one }); set(this.lines[1], { text: two });
    cut(change && newest ? (W[`x${newest.phase}`] ?? "").replace("{n}", newest.version).replace("{what}", what(newest.of)) : "", G.letters[1]).forEach((line, i) => set(this.meaning[i], { text: line }));
  }

  #drawPublisher(wait, work, change, t) {
    const G = this.G, W = this.words, [px, py, r] = G.who, i = wait ? this.nodes.indexOf(wait.node) : -1;
    const target = i >= 0 ? [G.at(i)[0] + G.node[0] / 2, G.at(i)[1]] : work ? [G.w / 2, G.store[1]] : [G.slots[1][0], G.slots[1][1] + 30], far = Math.hypot(target[0] - px, target[1] - py) || 1;
    for (const { at, pupil } of this.eyes) set(pupil, { cx: (at[0] + ((target[0] - px) / far) * r * 0.14).toFixed(1), cy: (at[1] + ((target[1] - py) / far) * r * 0.14).toFixed(1) });
    set(this.body, { class: `body${change ? "" : " idle"}` });
    show(this.arm, this.inHand); set(this.arm, { d: `M${px - r + 4} ${py + 2 * r - 24}L${G.hand[0] + G.size[0] - 6} ${G.hand[1] + G.size[1] - 8}` });
    show(this.beam, i >= 0);
    if (i >= 0) set(this.beam, { d: `M${px} ${py + 2 * r - 24}L${target[0] - G.node[0] / 2} ${target[1]}H${target[0] + G.node[0] / 2}Z` });
    const text = wait ? W.waitsFor.replace("{node}", wait.node).replace("{s}", Math.floor(t - wait.from)) : work ? this.#work(work) : "";
    show(this.pill, text); set(this.pill, { class: wait ? "label-pill" : "label-pill work" });
    if (!text) return;
    set(this.pillText, { text });
    const width = text.length * (/[\u4e00-\u9fff]/.test(text) ? 12 : 8) + 28, y = G.at(0)[1] - (G.slim ? 26 : 30), share = i >= 0 ? (y - py - r - 8) / (target[1] - py - r - 8) : 0;
    set(this.pillBox, { width: width.toFixed(0), x: (-width / 2).toFixed(0) }); set(this.pill, { move: move(clamp(px + share * (target[0] - px), width / 2, G.w - width / 2), y) });
  }

  /** What the work does now, and which version comes after it. */
  #work(work) {
    const W = this.words, name = W[`work${work.kind}`] ?? work.kind;
    const far = work.state === "waiting" ? W.sparkStarts : !work.done ? W.reading : work.total ? W.doneOf.replace("{done}", many(work.done)).replace("{total}", many(work.total)).replace("{p}", work.percent) : "";
    return this.inHand && !this.G.slim ? W.afterWork.replace("{n}", this.inHand.version).replace("{work}", name).replace("{far}", far) : `${name}: ${far}`;
  }

  #drawNode(history, t, name, i, { using, wait, pulse, label, left: words }) {
    const G = this.G, W = this.words, own = this.boxes[i], [x, y] = own.at, [w] = G.node, down = history.down(t, name);
    const mine = using.filter((use) => use.node === name).sort((a, b) => b.version - a.version), blocks = wait?.node === name ? mine.find((use) => use.version === wait.held) : null;
    set(own.g, { class: `node${down ? " dead" : ""}` });
    for (const [version, band] of own.bands) show(band, mine.some((use) => use.version === version));
    mine.slice(0, 2).forEach((use, row) => {
      if (!own.bands.has(use.version)) own.bands.set(use.version, card(own.g, w - 12, G.band, G.text ?? 15));
      const band = own.bands.get(use.version), version = history.version(use.version), phase = version?.phase ?? "public";
      band.holds = use === blocks;
      band.paint(phase, G.slim || w < 150 ? `v${use.version}` : `v${use.version}: ${label(version?.of, phase)}`);
      set(band, { move: move(x + 6, y + 30 + row * (G.band + 5)) });
    });
    const rate = pulse?.rates?.[name];
    set(own.rate, { text: down ? W[down.kind] ?? down.kind : rate === undefined ? "" : (G.slim ? W.perSShort : W.perS).replace("{n}", many(rate)), class: `small end${down ? " fell" : " quiet"}` });
    const counted = blocks ?? (down ? mine[0] : null), left = counted ? Math.max(0, counted.until - t) : 0;
    show(own.ring, counted && !G.slim); show(own.left, counted && !G.slim); set(own.left, { "stroke-dasharray": `${((100 * left) / history.leaseS).toFixed(0)} 100` });
    set(own.foot, { text: !counted ? "" : (G.slim ? W.leaseShort : W.lease).replace("{n}", counted.version).replace("{t}", words(counted.until)) });
    const hold = mine.map((use) => [use, history.holder(use, t)]).find(([, one]) => one), row = hold ? mine.indexOf(hold[0]) : 0;
    show(own.session, hold && !down);
    if (hold && !down) {
      const width = G.slim ? w - 8 : 112, sx = G.slim ? x + 2 : Math.max(2, x - 125), sy = y + (G.slim ? 122 : 96), text = short(hold[1].who, G.slim ? 11 : 15);
      set(own.sessionBox, { x: sx, y: sy, width }); set(own.sessionText, { x: sx + width / 2, y: sy + 17, text });
      set(own.cord, { d: G.slim ? `M${x + 14} ${sy}V${y + 44 + row * 33}` : `M${sx + width} ${sy + 12}L${x + 7} ${y + 45 + row * (G.band + 5)}`, class: `cord${hold[0] === blocks ? " holds" : ""}` });
    }
  }

  #drawStore(pulse, label, history) {
    const W = this.words, name = history.table?.name ?? "";
    this.stores.forEach((lines, i) => {
      const one = pulse?.entries?.[i], shown = one ? [{ name, entries: one.rows, total: one.rows, state: "rows", is: one.is_exact }, ...one.elements] : [];
      lines.forEach((line, row) => {
        const of = shown[row], total = one?.rows, share = of && total ? clamp((of.entries ?? 0) / total, 0, 1) : 0, isRows = of?.state === "rows", isEmpty = of && !isRows && !of.entries;
        for (const element of [line.name, line.number]) show(element, of);
        show(line.track, of); show(line.fill, of && (isRows || share > 0 || isEmpty));
        if (!of) return;
        set(line.name, { text: of.name.length > 19 && !this.G.slim ? `${of.name.slice(0, 18)}…` : this.G.slim ? of.name.replace(`${name}_`, "") : of.name });
        set(line.fill, { class: isRows ? "rows" : `chip s-${of.state}` });
        set(line.rects[1], { fill: isRows ? "none" : `url(#look-${of.state})` });
        for (const rect of line.rects) set(rect, { width: Math.max(3, (isRows ? 1 : share) * line.width).toFixed(1) });
        set(line.number, { text: of.entries === null || of.entries === undefined ? "" : isRows ? `${of.is ? "" : "≈ "}${this.G.slim ? many(of.entries) : W.rows.replace("{n}", many(of.entries))}` : this.G.slim ? many(of.entries) : of.total ? `${many(of.entries)} / ${many(of.total)}` : W.entries.replace("{n}", many(of.entries)) });
      });
    });
  }

  /** Where a client's line leads: to its own node, or, while that is down, to the next one that is not. */
  #served(history, t, i) {
    const order = [...this.nodes.keys()].map((k) => (i + k) % this.nodes.length);
    return order.find((k) => !history.down(t, this.nodes[k])) ?? i;
  }

  /** The line of client k of node i to the node that serves it: around a node that is down, never through it. */
  #line(i, k, to) {
    const G = this.G, [x, y] = this.boxes[i].at, [nx, ny] = this.boxes[to].at, [w, h] = G.node, [cx, cy] = G.client([x, y], k);
    if (G.slim) return [[cx, cy], [nx + w / 2, ny + h - 4]];
    if (to === i) return [[cx, cy], [nx, cy]];
    const turn = x - 34 + 9 * k, below = y + h + 6 + 7 * k, isRight = to > i, enter = isRight ? nx - 34 + 9 * k : nx + w + 8 + 9 * k;
    return [[cx, cy], [turn, cy], [turn, below], [enter, below], [enter, cy + 13], [isRight ? nx : nx + w, cy + 13]];
  }

  #drawTraffic(pulse, t, history, calm, isLive) {
    const G = this.G, W = this.words, traffic = pulse?.traffic, runs = traffic?.is_running && Object.values(pulse.rates).some(Boolean);
    const home = this.nodes.map((_, i) => this.#served(history, t, i));
    const ends = traffic?.ends_at ? Date.parse(traffic.ends_at) / 1000 - t : null, since = traffic?.ended_at ? t - Date.parse(traffic.ended_at) / 1000 : null;
    const text = since !== null ? W.ended.replace("{m}", since < 180 ? `${Math.max(0, Math.round(since))} s` : `${Math.round(since / 60)} min`) : ends !== null && ends < 120 ? W.ends.replace("{s}", Math.max(0, Math.ceil(ends))) : "";
    if (this.runs) set(this.runs, { text });
    const up = this.nodes.map((name, i) => [this.out(i)[0], !history.down(t, name)]), wired = [G.w / 2, ...up.filter((one) => one[1]).map((one) => one[0])];
    this.pipes.forEach((pipe, i) => show(pipe, up[i][1]));
    set(this.bus, { d: `M${Math.min(...wired)} ${G.bus}H${Math.max(...wired)}M${G.w / 2} ${G.bus}V${G.store[1]}` });
    const key = [runs, home, calm, this.width].join();
    this.nodes.forEach((name, i) => {
      set(this.boxes[i].clients, { class: `clients${runs ? "" : " ended"}` });
      this.links[i].forEach((link, k) => set(link, { d: `M${this.#line(i, k, home[i]).map((point) => point.join(" ")).join("L")}` }));
    });
    this.dots.classList.toggle("entries", Boolean(pulse?.entries?.some((one) => one.elements.some((element) => element.state !== "delete-only"))));
    if (key === this.dotKey) return;
    this.dotKey = key; this.dots.replaceChildren();
    if (!runs) return;
    const scale = this.width / G.w;
    this.nodes.forEach((_, i) => [0, 1, 2].slice(0, DOTS + 1).forEach((k) => {
      const to = home[i], [ox, oy] = this.out(to), line = this.#line(i, k, to), dot = document.createElement("i"), isWrite = (i + k) % 3 === 0;
      if (isWrite) { dot.className = "write"; dot.append(document.createElement("b")); }
      this.dots.append(dot);
      const path = [...line, [ox, line.at(-1)[1]], [ox, oy], [ox, G.bus], [G.w / 2, G.bus], [G.w / 2, G.store[1]]], sum = path.reduce((all, p, n) => all + (n ? Math.hypot(p[0] - path[n - 1][0], p[1] - path[n - 1][1]) : 0), 0);
      let run = 0;
      const way = path.map(([x, y], n) => ({ transform: `translate(${(x * scale).toFixed(1)}px, ${(y * scale).toFixed(1)}px)`, offset: (run += n ? Math.hypot(x - path[n - 1][0], y - path[n - 1][1]) : 0) / sum / 2 }));
      const back = way.map((one) => ({ ...one, offset: 1 - one.offset })).reverse().slice(1), animation = dot.animate([...way, ...back], { duration: LOOP_MS + 260 * k + 90 * i, iterations: Infinity, delay: -700 * k - 300 * i });
      if (calm) { animation.pause(); animation.currentTime = 500 + 300 * k; }
    }));
  }
}

const short = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
function cut(text, length) {
  if (/[\u4e00-\u9fff]/.test(text)) length = Math.floor(length / 2); // twice as wide, and broken anywhere
  if (text.length <= length) return [text, ""];
  const space = text.lastIndexOf(" ", length), at = space > length / 2 ? space : length, rest = text.slice(at).trimStart();
  return [text.slice(0, at), rest.length > length ? `${rest.slice(0, length - 1)}…` : rest];
}
