/* A clock that runs past the learner's guess: an axis of time, a hand, and a sentence for each moment. It stops at the last.

   Moments come from the server. Reduced motion: the hand stands at the end at once, and all sentences are there. */

import { announce, h, icon, still } from "./ladder-parts.js";

const MOMENT_MS = 2200, BEYOND = 0.2;

class ClockRun {
  constructor(root) {
    const { moments, guess, words } = JSON.parse(document.getElementById(root.dataset.clockRun).textContent);
    Object.assign(this, { moments, guess, words });
    const [first, last] = [moments[0].at, moments.at(-1).at], far = Math.max(last, guess?.at ?? last), near = Math.min(first, guess?.at ?? first);
    this.from = near;
    this.span = (far - near) * (1 + BEYOND);
    this.hand = h("span", { class: "hand" });
    this.lines = moments.map(({ clock, text }) => h("li", {}, h("b", { class: "num" }, clock), " ", text));
    const marks = moments.map(({ at, clock }) => this.place(h("span", { class: "tick" }, clock), at));
    const ghost = guess && this.place(h("span", { class: "ghost" }, icon("circle-help"), h("span", {}, guess.text)), guess.at);
    if (ghost) ghost.style.translate = `-${ghost.style.left}`; // at the axis' end it ends there too
    this.again = h("button", { type: "button", onclick: () => this.play() }, icon("rotate-ccw"), words.again);
    root.append(h("div", { class: "clock-run" }, h("div", { class: "axis", "aria-hidden": "true" }, marks, this.hand, ghost), guess && h("p", { class: "hush" }, guess.text), h("ol", { class: "plain stack tight" }, this.lines), h("p", {}, this.again)));
    this.play();
  }

  place(element, at) {
    element.style.left = `${(100 * (at - this.from)) / this.span}%`;
    return element;
  }

  show(at) {
    this.place(this.hand, this.moments[at].at);
    this.lines.forEach((line, number) => line.classList.toggle("ahead", number > at));
  }

  async play() {
    const run = (this.run = (this.run ?? 0) + 1), last = this.moments.length - 1;
    for (let at = still.matches ? last : 0; at <= last; at += 1) {
      this.show(at);
      announce(this.moments[at].text);
      if (at < last) await new Promise((go) => setTimeout(go, MOMENT_MS));
      if (run !== this.run) return;
    }
  }
}

for (const root of document.querySelectorAll("[data-clock-run]")) new ClockRun(root);
