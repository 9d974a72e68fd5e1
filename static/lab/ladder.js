/* The ladder builder: tiles that are dragged, tapped or moved by keys into an order.

     tray     the loose tiles, in an order that is not the right one
     line     ground ── mark ── tile ── mark ── tile ..

   It knows no rule: which neighbours are compatible came with the page. While a run is played it is locked, and flags
   show on which tile each server stands. `onChange` hears of each new order; a tile is known by its place in the data,
   because a plan may have two of the same. */

import { announce, fill, h, icon, still } from "./ladder-parts.js";

const GLYPHS = { absent: "circle-dashed", "delete-only": "minus", "write-only": "arrow-up", public: "check", fill: "slashes", verify: "search-check", delete: "x", drain: "hourglass", close: "lock", purge: "x" };
const MARKS = { ok: ["check", "compatible"], bad: ["x", "not compatible"], wait: ["hourglass", "waits"], open: ["plus"], none: [] };
const LONG = 5; // more tiles wrap, and stand level
const DRAG_PX = 6, SLIDE_MS = 180;
/* The look of a tile: a glyph for each state, or for its work, and its words. */
export function face(tile) {
  return [...(tile.states.length ? tile.states : [tile.value]).map((state) => GLYPHS[state] && icon(GLYPHS[state])), h("span", {}, tile.text)];
}
export const colour = (tile) => tile.states.at(-1) ?? (tile.isWork ? "reorganising" : "absent");

export class Ladder {
  constructor({ data, order = [], isSilent = false, onChange = () => {} }) {
    Object.assign(this, { data, words: data.words, isSilent, onChange, held: null, lifted: null, isLocked: false });
    this.order = this.placesOf(order);
    this.tiles = data.tiles.map((tile, at) => this.tile(tile, at));
    this.tray = h("ul", { class: "tray", "aria-label": this.words.tray });
    this.line = h("ol", { class: "ladder", "aria-label": this.words.ladder });
    this.help = document.getElementById("ladder-keys") ? null : h("p", { class: "hush", id: "ladder-keys" }, this.words.keys);
    this.clear = h("button", { type: "button", class: "plain small", onclick: () => this.set([], this.words.cleared) }, this.words.clear);
    this.element = h("div", { class: "builder", onkeydown: (event) => this.key(event) }, this.help, h("div", { class: "row between tray-row" }, this.tray, this.clear), this.line);
    this.draw();
  }

  /* Orders by the values of tiles, as the server knows them; of two of the same the first that is free. */
  placesOf(values) {
    const free = this.data.tiles.map((_, at) => at);
    return values.flatMap((value) => {
      const found = free.findIndex((at) => this.data.tiles[at].value === value);
      return found < 0 ? [] : free.splice(found, 1);
    });
  }
  get values() { return this.order.map((at) => this.data.tiles[at].value); }
  text(at) { return this.data.tiles[at].text; }
  before(place) { return place ? this.text(this.order[place - 1]) : this.data.ground.text; }

  tile(tile, at) {
    const button = h("button", { type: "button", class: `tile pattern ${tile.isWork ? "work" : ""}`, "data-state": colour(tile), "data-value": tile.value, "aria-describedby": "ladder-keys", title: tile.about || null }, face(tile));
    button.addEventListener("pointerdown", (event) => this.press(event, at));
    button.addEventListener("click", (event) => {
      if (this.swallows) this.swallows = false;
      else if (!this.isLocked) this.tap(at, event.detail === 0);
    });
    return button;
  }

  set(order, words = "") {
    this.order = order;
    this.held = null;
    this.changed();
    if (words) announce(words);
  }
  setValues(values) { this.set(this.placesOf(values)); }
  changed() { this.draw(); this.onChange(this); }
  place(at, where) {
    this.order = this.order.filter((one) => one !== at);
    this.order.splice(where, 0, at);
  }

  /* Where a tile is, and whether it and the version before it are compatible. */
  where(at) {
    const place = this.order.indexOf(at), values = { tile: this.text(at) };
    if (place < 0) return fill(this.words.loose, values);
    const { kind } = this.marks()[place], said = fill(this.words.where, { ...values, n: place + 1, all: this.order.length, before: this.before(place) });
    return kind === "ok" || kind === "bad" ? `${said} ${this.words[MARKS[kind][1]]}.` : said;
  }

  /* A loose tile goes to the end at once; a placed one is picked up, and gaps open. By key each is picked up first. */
  tap(at, isByKey) {
    if (this.held !== null) return this.drop();
    if (!this.order.includes(at) && !isByKey) {
      if (this.order.length === this.data.most) this.order.pop();
      this.place(at, this.order.length);
      this.changed();
      return announce(fill(this.words.placed, { tile: this.text(at), where: this.where(at) }));
    }
    [this.was, this.held] = [[...this.order], at];
    if (isByKey && !this.order.includes(at)) this.place(at, this.order.length);
    this.draw();
    this.tiles[at].focus();
    announce(fill(this.words["picked up"], { tile: this.text(at) }), true);
  }

  drop(words = null) {
    const at = this.held;
    this.held = null;
    this.changed();
    this.tiles[at]?.focus();
    announce(words ?? fill(this.words.dropped, { where: this.where(at) }));
  }

  takeOff(at) {
    this.order = this.order.filter((one) => one !== at);
    this.held = at;
    this.drop(fill(this.words["taken off"], { tile: this.text(at) }));
  }

  key(event) {
    const at = this.tiles.indexOf(event.target.closest?.(".tile"));
    if (at < 0 || this.isLocked || event.ctrlKey || event.metaKey || event.altKey) return;
    const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -99, End: 99 }[event.key];
    if (this.held !== null && by) {
      const from = this.order.indexOf(this.held);
      this.place(this.held, from < 0 ? this.order.length : Math.min(Math.max(from + by, 0), this.order.length - 1));
      this.changed();
      this.tiles[this.held].focus();
      announce(this.where(this.held), true);
    } else if (this.held !== null && event.key === "Escape") {
      this.order = this.was;
      this.drop(fill(this.words["put back"], { tile: this.text(this.held) }));
    } else if (["Delete", "Backspace"].includes(event.key) && this.order.includes(at)) this.takeOff(at);
    else if (by) {
      const shown = [...this.element.querySelectorAll(".tray .tile, .ladder button.tile")];
      shown[Math.min(Math.max(shown.indexOf(this.tiles[at]) + by, 0), shown.length - 1)].focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /* A drag begins after some pixels, so a tap stays a tap. The tile itself stands where it would land. */
  press(event, at) {
    if (this.isLocked || event.button > 0) return;
    const button = this.tiles[at], { left, top, width } = button.getBoundingClientRect(), start = this.order, drag = new AbortController();
    let copy = null;
    const on = (kind, act) => window.addEventListener(kind, (now) => { if (now.pointerId === event.pointerId) act(now); }, { signal: drag.signal });
    const end = (order) => {
      drag.abort();
      if (!copy) return;
      copy.remove();
      [this.order, this.lifted, this.swallows] = [order, null, true];
      setTimeout(() => { this.swallows = false; });
      this.changed();
      announce(this.where(at));
    };
    on("pointermove", ({ clientX: x, clientY: y }) => {
      const by = [x - event.clientX, y - event.clientY];
      if (!copy && Math.hypot(...by) < DRAG_PX) return;
      if (!copy) {
        [this.held, this.lifted, copy] = [null, at, button.cloneNode(true)];
        copy.classList.add("drag");
        Object.assign(copy.style, { left: `${left}px`, top: `${top}px`, width: `${width}px` });
        document.body.append(copy);
      }
      copy.style.translate = by.map((px) => `${px}px`).join(" ");
      const next = this.orderAt(at, x, y);
      if (next.join() === this.order.join()) return;
      this.order = next;
      this.changed();
    });
    on("pointerup", () => end(this.order));
    on("pointercancel", () => end(start));
  }

  /* The order with a tile where the pointer is; outside of the line it is loose. */
  orderAt(at, x, y) {
    const area = this.line.getBoundingClientRect(), rest = this.order.filter((one) => one !== at);
    if (x < area.left - 30 || x > area.right + 30 || y < area.top - 20 || y > area.bottom + 50) return rest;
    const isTall = getComputedStyle(this.line).flexDirection === "column";
    const place = rest.filter((one) => {
      const spot = this.tiles[one].getBoundingClientRect();
      if (isTall) return spot.top + spot.height / 2 < y;
      return spot.bottom < y - spot.height / 2 || (spot.top < y + spot.height / 2 && spot.left + spot.width / 2 < x);
    }).length;
    return rest.toSpliced(place, 0, at);
  }

  /* What stands before each tile: of two versions whether they are compatible; before work that the publisher waits. */
  marks() {
    let last = this.data.ground.version;
    const tiles = this.order.map((at) => this.data.tiles[at]);
    if (this.data.goal && tiles.length) tiles.push(this.data.goal);
    return tiles.map(({ isWork, version }) => {
      if (isWork) return { kind: this.isSilent ? "none" : "wait" };
      const pair = [last, version], isOk = this.data.pairs[[...pair].sort().join("|")];
      last = version;
      return { kind: this.isSilent || isOk === undefined ? "none" : isOk ? "ok" : "bad", pair };
    });
  }

  /* A sentence about the whole order. */
  get sentence() {
    if (!this.order.length) return this.words["say empty"];
    const marks = this.marks(), bad = marks.find((mark) => mark.kind === "bad");
    if (bad) return fill(this.words["say bad"], { one: this.named(bad.pair[0]), other: this.named(bad.pair[1]) });
    if (!marks.some((mark) => mark.kind === "ok")) return this.words["say silent"];
    return this.words[marks.some((mark) => mark.kind === "wait") ? "say ok work" : "say ok"];
  }
  named(version) { return [this.data.ground, this.data.goal, ...this.data.tiles].find((tile) => tile?.version === version)?.text ?? version; }

  draw() {
    const old = this.tiles.map((one) => (one.isConnected ? one.getBoundingClientRect() : null)), focused = document.activeElement;
    const loose = this.tiles.map((_, at) => at).filter((at) => !this.order.includes(at)), marks = this.marks();
    this.tray.replaceChildren(...(loose.length ? loose.map((at) => h("li", {}, this.tiles[at])) : [h("li", { class: "small muted" }, this.words["all placed"])]));
    this.clear.hidden = !this.order.length;
    let level = 0;
    const fixed = (tile) => h("div", { class: "tile ground pattern", "data-state": colour(tile) }, face(tile));
    const parts = [this.slot(fixed(this.data.ground), -1, 0)];
    this.order.forEach((at, place) => {
      const from = level, { isWork } = this.data.tiles[at];
      level += isWork ? 0 : 1;
      parts.push(this.link(marks[place].kind, place, (from + level) / 2), this.slot([this.tiles[at], this.held === at && this.off(at)], place, level, isWork));
    });
    if (!this.isLocked && (this.data.most ?? 99) > this.order.length && (loose.length || this.held !== null)) parts.push(this.link("open", this.order.length, level), this.slot(h("div", { class: "open" }, this.words[this.order.length ? "next tile" : "first tile"]), -2, level));
    if (this.data.goal) parts.push(this.link(marks[this.order.length]?.kind ?? "none", -1, level), this.slot(fixed(this.data.goal), this.order.length, level));
    this.line.classList.toggle("long", this.data.tiles.length > LONG || Boolean(this.data.goal || this.data.wraps || this.data.tiles.some((one) => one.states?.length > 1)));
    this.line.replaceChildren(...parts);
    this.tiles.forEach((one, at) => {
      one.classList.toggle("held", this.held === at);
      one.classList.toggle("lifted", this.lifted === at);
      one.setAttribute("aria-pressed", String(this.held === at));
      const was = old[at], now = one.getBoundingClientRect();
      if (was && !still.matches) one.animate([{ transform: `translate(${was.left - now.left}px, ${was.top - now.top}px)` }, { transform: "none" }], { duration: SLIDE_MS, easing: "ease-out" });
    });
    if (this.element.contains(focused) && focused !== document.activeElement) focused.focus();
  }

  /* Takes the held tile off, by touch too. */
  off(at) { return h("button", { type: "button", class: "off small", onclick: () => this.takeOff(at) }, this.words["take off"]); }

  slot(inside, place, level, isWork = false) {
    const one = h("li", { class: `slot ${isWork ? "work" : ""}`, "data-place": place }, inside);
    one.style.setProperty("--step", level);
    return one;
  }

  /* Between two tiles: what is known of them, and a gap that takes the tile which is held. */
  link(kind, place, level) {
    const [glyph, word] = MARKS[kind], from = this.order.indexOf(this.held), takes = place >= 0 && this.held !== null && (from < 0 || (from !== place && from !== place - 1));
    const put = () => {
      this.place(this.held, from >= 0 && from < place ? place - 1 : place);
      this.drop();
    };
    const gap = takes && h("button", { type: "button", class: "here", "aria-label": fill(this.words["put here"], { tile: this.text(this.held), before: this.before(place) }), onclick: put }, icon("plus"));
    const one = h("li", { class: "link", "data-mark": kind }, h("span", { class: "bar" }), word && h("span", { class: "word" }, this.words[word]), glyph && h("span", { class: "mark", "aria-hidden": "true" }, icon(glyph)), gap);
    one.style.setProperty("--step", level);
    return one;
  }

  lock(isLocked) {
    [this.isLocked, this.held] = [isLocked, null];
    this.element.classList.toggle("locked", isLocked);
    for (const one of this.tiles) one.setAttribute("aria-disabled", String(isLocked));
    this.draw();
    if (!isLocked) this.show(null);
  }

  /* Servers stand on the tile of the version that they use; the tile that works, or at which it broke, is outlined. */
  show(frame, isBroken = false) {
    for (const one of this.line.querySelectorAll(".flags")) one.remove();
    for (const one of this.line.querySelectorAll(".tile")) one.classList.remove("current", "broke");
    if (!frame) return;
    for (const [node, place] of Object.entries(frame.uses)) {
      const slot = this.line.querySelector(`[data-place="${place}"]`), flags = slot?.querySelector(".flags") ?? h("span", { class: "flags" });
      flags.append(h("span", { class: "flag" }, node));
      slot?.append(flags);
    }
    if (frame.actor) this.line.querySelector(`[data-place="${frame.tile}"] .tile`)?.classList.add(isBroken ? "broke" : "current");
  }
}
