/* Plays a run: two servers, the publisher, what is stored; a sentence for each moment. It stops at the end.

   Everything comes from the server as frames (`lab.ladders.frames`): nothing is worked out here. 1x: time to read the
   sentence, then what is written flies from the one who writes it to its place. Reduced motion: no flight, nothing
   plays by itself, and each step is one click. */

import { announce, fill, h, icon, still, svg } from "./ladder-parts.js";
import { colour, face } from "./ladder.js";

const READ_MS = 600, READ_MS_A_LETTER = 24, FLIGHT_MS = 820, APART_MS = 160;
const SIGNS = { added: "+", removed: "\u2212" };

export class LadderStage {
  constructor({ data, order, played, ghost = "" }) {
    Object.assign(this, { data, order, words: data.words, frames: played.frames, stores: played.stores, ghost });
    this.nodes = new Map(Object.keys(this.frames[0].uses).map((name) => [name, this.server(name)]));
    this.publisher = h("section", { class: "pub" });
    this.sides = ["left", "right"].slice(0, this.stores[1] ? 2 : 1);
    this.cells = Object.fromEntries(this.sides.map((side) => [side, h("div", { class: "cells" })]));
    this.keys = Object.fromEntries(this.sides.map((side) => [side, this.keysOf(side)]));
    this.arrows = svg("svg", { "aria-hidden": "true" });
    this.store = h("section", { class: `store ${this.sides.length < 2 ? "alone" : ""}` }, h("h3", {}, this.words.store), this.sides.map((side, at) => h("div", {}, h("h4", {}, this.stores[at]), this.cells[side])), this.arrows);
    const [first, ...others] = [...this.nodes.values()].map((one) => one.box);
    this.element = h("div", { class: "ladder-stage" }, first, this.publisher, others, this.store);
    new ResizeObserver(() => this.point()).observe(this.store);
  }

  server(name) {
    const hat = h("span");
    return { hat, box: h("section", { class: "server" }, h("h3", {}, fill(this.words.server, { name })), hat) };
  }

  /* The cells of a store: everything that is ever in it, and what is missing from it. */
  keysOf(side) {
    const found = this.frames.flatMap((frame) => frame[side].map(([key]) => key));
    if (side === "right") found.push(...this.frames.flatMap((frame) => frame.marks.filter(([kind]) => ["missing", "unset"].includes(kind)).map(([, key]) => key)));
    const keys = [...new Set(found)].sort();
    return keys.length ? keys : [""];
  }

  tile(place) { return place < 0 ? this.data.ground : this.data.tiles[this.order[place]]; }
  version(place) { return place < 0 ? 1 : 2 + this.order.slice(0, place).filter((at) => !this.data.tiles[at].isWork).length; }
  hat(place) {
    const tile = this.tile(place);
    return h("span", { class: "hat pattern", "data-state": colour(tile) }, h("b", {}, `v${this.version(place)}`), face(tile));
  }

  dress(frame) {
    for (const [name, one] of this.nodes) {
      const hat = this.hat(frame.uses[name]);
      one.hat.replaceWith(hat);
      one.hat = hat;
    }
  }

  /* A frame; `before` is the one before it, `isMoving`: what has changed flies to its place first. */
  async show(frame, before = null, isMoving = false) {
    const turn = (this.turn = (this.turn ?? 0) + 1), works = frame.actor === "f";
    this.dress(isMoving && before ? before : frame);
    for (const [name, one] of this.nodes) one.box.classList.toggle("acting", frame.actor === name);
    this.publisher.replaceChildren(h("h3", {}, works ? this.words.reorganisation : this.words.publisher), works && frame.tile >= 0 ? h("span", { class: "hat pattern", "data-state": "reorganising" }, face(this.tile(frame.tile))) : this.hat(frame.newest));
    this.publisher.classList.toggle("acting", works || frame.actor === "p");
    if (isMoving && before) await this.fly(frame, before);
    if (turn !== this.turn) return;
    this.dress(frame);
    [this.frame, this.before] = [frame, before];
    for (const side of this.sides) this.cells[side].replaceChildren(...this.keys[side].map((key) => this.cell(side, key)));
    this.point();
  }

  cell(side, key) {
    const text = (frame) => frame?.[side].find(([one]) => one === key)?.[1];
    const now = text(this.frame), was = this.before && text(this.before), mark = this.frame.marks.find(([, one]) => one === key && (side === "right" || !this.isOfRight(one)))?.[0];
    const owner = this.frame[side].find(([one]) => one === key)?.[2] ?? "";
    const change = this.before && now !== was ? (now === undefined ? "removed" : "added") : "";
    const isHole = side === "left" && !now && this.frame.marks.some(([kind, one]) => kind === "orphan" && one.split(">")[1] === key);
    return h("div", { class: `cell ${now ? "there" : ""} ${mark ? "bad" : ""} ${mark && !now ? "gone" : ""} ${isHole ? "hole" : ""}`, "data-key": key, "data-owner": owner },
      h("span", {}, now ?? (was ? fill(this.words["is gone"], { what: was }) : mark ? "" : this.words["nothing there"])),
      mark && h("b", { class: "label" }, this.words[mark]), change && h("span", { class: "change", "aria-label": this.words[change] }, SIGNS[change]));
  }
  isOfRight(key) { return this.sides.length > 1 && this.keys.right.includes(key) && !this.keys.left.includes(key); }

  /* An arrow from each entry to its row, or to the hole. */
  point() {
    const area = this.store.getBoundingClientRect();
    this.arrows.replaceChildren();
    if (!area.width || this.sides.length < 2) return;
    for (const cell of this.cells.right.querySelectorAll(".there")) {
      const to = this.cells.left.querySelector(`[data-key="${cell.dataset.owner}"]`);
      if (!to?.matches(".there, .bad, .hole")) continue;
      const a = cell.getBoundingClientRect(), b = to.getBoundingClientRect(), isBad = cell.classList.contains("bad") ? "bad" : "";
      const [x1, y1, x2, y2] = [a.left - area.left - 2, a.top + a.height / 2 - area.top, b.right - area.left + 3, b.top + b.height / 2 - area.top], bend = Math.min(24, Math.abs(x1 - x2) / 2);
      this.arrows.append(svg("path", { class: isBad, d: `M${x1} ${y1}C${x1 - bend} ${y1} ${x2 + bend} ${y2} ${x2} ${y2}` }), svg("path", { class: `head ${isBad}`, d: `M${x2 + 8} ${y2 - 5}L${x2} ${y2}L${x2 + 8} ${y2 + 5}` }));
    }
  }

  /* A version flies from the publisher to the server; what is written, from the one who writes it to its cell. */
  async fly(frame, before) {
    const from = this.nodes.get(frame.actor)?.box ?? this.publisher, flights = [];
    for (const [name, one] of this.nodes) if (frame.uses[name] !== before.uses[name]) flights.push([`v${this.version(frame.uses[name])}`, this.publisher, one.hat]);
    for (const side of this.sides) {
      const now = new Map(frame[side].map(([key, text]) => [key, text])), was = new Map(before[side].map(([key, text]) => [key, text]));
      for (const key of this.keys[side]) if (now.get(key) !== was.get(key)) flights.push([now.get(key) ?? `\u2212 ${was.get(key)}`, from, this.cells[side].querySelector(`[data-key="${key}"]`)]);
    }
    const area = this.element.getBoundingClientRect();
    await Promise.all(flights.map(async ([words, start, end], at) => {
      if (!end) return;
      const token = h("span", { class: "token" }, words);
      this.element.append(token);
      const s = start.getBoundingClientRect(), e = end.getBoundingClientRect(), half = token.offsetWidth / 2;
      const spot = (box, down) => `translate(${box.left + box.width / 2 - area.left - half}px, ${box.top + box.height * down - area.top - 14}px)`;
      const run = token.animate([{ transform: spot(s, 0.8), opacity: 0 }, { transform: spot(s, 0.9), opacity: 1, offset: 0.15 }, { transform: spot(e, 0.5), opacity: 1 }], { duration: FLIGHT_MS, delay: at * APART_MS, easing: "ease-in-out", fill: "both" });
      await run.finished.catch(() => {}); // cancelled with the page
      token.remove();
    }));
  }
}

export class Player {
  constructor({ stage, ladder = null, ends = () => {} }) {
    Object.assign(this, { stage, ladder, ends, frames: stage.frames, words: stage.words, at: 0, isPlaying: false });
    this.sentence = h("p", { class: "sentence" });
    this.dots = h("span", { class: "dots", "aria-hidden": "true" });
    this.count = h("span", { class: "small muted num" });
    const key = (name, words, act) => h("button", { type: "button", title: this.words[words], onclick: act }, icon(name), h("span", { class: "hush" }, this.words[words]));
    this.toggle = key("play", "play", () => (this.isPlaying ? this.pause() : this.play()));
    this.bar = h("div", { class: "row player-keys", role: "group", "aria-label": this.words.transport }, key("skip-back", "again", () => { this.pause(); this.to(0); }), key("step-back", "back", () => { this.pause(); this.to(this.at - 1); }), this.toggle, key("step-forward", "next", () => { this.pause(); this.to(this.at + 1, true); }), this.dots, this.count);
    this.element = h("div", { class: "ladder-player" }, h("h2", { class: "hush" }, this.words.transport), stage.element, this.sentence, this.ghost(), this.bar);
  }

  /* What the learner predicted stays beside the run. */
  ghost() { return this.stage.ghost && h("p", { class: "ghost" }, icon("circle-help"), h("span", {}, fill(this.words.predicted, { what: this.stage.ghost }))); }
  get last() { return this.frames.length - 1; }

  async to(at, isMoving = false) {
    at = Math.min(Math.max(at, 0), this.last);
    const frame = this.frames[at], before = at ? this.frames[at - 1] : null, call = (this.call = (this.call ?? 0) + 1), isBroken = frame.marks.length > 0;
    this.at = at;
    this.sentence.textContent = frame.sentence;
    this.count.textContent = fill(this.words.step, { at, all: this.last });
    this.dots.replaceChildren(...this.frames.slice(1).map((one, n) => h("i", { class: n + 1 === at ? (one.marks.length ? "bad" : "now") : n + 1 < at ? "past" : "" })));
    announce(frame.sentence);
    const flies = isMoving && !still.matches;
    if (flies && before) this.ladder?.show({ ...frame, uses: before.uses });
    await this.stage.show(frame, before, flies);
    if (call !== this.call) return;
    this.ladder?.show(frame, isBroken);
    if (at === this.last && !this.hasEnded) {
      this.hasEnded = true;
      this.pause();
      this.element.dataset.ended = "";
      this.ends();
    }
  }

  /* From where it stands, or again from the start; with reduced motion one step. */
  async play() {
    if (this.at === this.last) await this.to(0);
    if (still.matches) return this.to(this.at + 1);
    const run = (this.run = (this.run ?? 0) + 1);
    this.mark(true);
    while (this.isPlaying && run === this.run && this.at < this.last) {
      await new Promise((go) => setTimeout(go, READ_MS + READ_MS_A_LETTER * this.frames[this.at].sentence.length));
      if (!this.isPlaying || run !== this.run || !this.element.isConnected) return;
      await this.to(this.at + 1, true);
    }
    this.pause();
  }

  pause() { this.mark(false); }
  mark(isPlaying) {
    this.isPlaying = isPlaying;
    const words = this.words[isPlaying ? "pause" : "play"];
    this.toggle.title = words;
    this.toggle.replaceChildren(icon(isPlaying ? "pause" : "play"), h("span", { class: "hush" }, words));
  }
}
