/* The first minute: two servers, one store, and two clicks that make an orphan entry.

     intro ──► bubble at n2 ──click──► bubble at n1 ──click──► the ending, which came with the page

   Only the button whose turn it is is blue; the other one says why it is not its turn. Frames come from the server. */

import { announce, h, icon, still } from "./ladder-parts.js";
import { LadderStage } from "./ladder-play.js";

const INTRO_MS = 1600;

class FirstMinute {
  constructor(root) {
    this.root = root;
    this.data = JSON.parse(document.getElementById(root.dataset.firstMinute).textContent);
    this.ending = root.querySelector("[data-minute-ending]");
    this.list = [...root.querySelectorAll("[data-minute-list] > li")];
    this.sentence = h("p", { class: "sentence" });
    this.buttons = new Map(this.data.clicks.map(({ node, label }) => [node, h("button", { type: "button", onclick: () => this.click(node) }, label)]));
    this.bubbles = new Map(this.data.clicks.map(({ node, bubble }) => [node, h("p", { class: "bubble" }, bubble)]));
    root.querySelector("[data-minute-words]").remove();
    root.querySelector("[data-minute-again]").addEventListener("click", () => this.begin());
    this.place = root.querySelector("[data-minute-stage]");
    this.region = h("p", { class: "hush", id: "ladder-then", "aria-live": "polite" });
    this.begin(true);
  }

  /* The stage as it is at first; the second schema version arrives, then it is the learner's turn. */
  async begin(isFirst = false) {
    this.step = 0;
    this.isBusy = true;
    this.ending.hidden = true;
    this.stage = new LadderStage({ data: this.data, order: [0], played: this.data });
    for (const [node, button] of this.buttons) this.stage.nodes.get(node).box.append(button, this.bubbles.get(node));
    this.place.replaceChildren(this.region, this.stage.element, this.sentence);
    this.mark();
    const { frames, start } = this.data;
    if (isFirst && !still.matches) {
      this.say(this.data.begins);
      await this.stage.show(frames[0]);
      await new Promise((go) => setTimeout(go, INTRO_MS));
    }
    await this.stage.show({ ...frames[start], actor: "" }, isFirst ? frames[0] : null, isFirst && !still.matches);
    this.isBusy = false;
    this.mark();
    if (!isFirst) this.buttons.get(this.data.clicks[0].node).focus();
  }

  async click(node) {
    const next = this.data.clicks[this.step];
    if (this.isBusy) return;
    if (!next || next.node !== node) return this.say(next?.other ?? this.data.over);
    const { frames, start } = this.data, at = start + (this.step += 1);
    this.isBusy = true;
    this.mark();
    this.say(frames[at].sentence);
    await this.stage.show(frames[at], frames[at - 1], !still.matches);
    this.isBusy = false;
    this.mark();
    if (this.step < this.data.clicks.length) return this.buttons.get(this.data.clicks[this.step].node).focus({ preventScroll: true });
    this.ending.hidden = false;
    this.ending.focus({ preventScroll: true });
    this.ending.scrollIntoView({ block: "nearest", behavior: still.matches ? "auto" : "smooth" });
  }

  say(words) {
    this.sentence.textContent = words;
    announce(words);
  }

  /* Whose turn it is: the bubble, the blue button, the line of the list. */
  mark() {
    const next = this.isBusy ? null : this.data.clicks[this.step];
    for (const [node, button] of this.buttons) {
      button.classList.toggle("first", next?.node === node);
      this.bubbles.get(node).classList.toggle("now", next?.node === node);
    }
    const done = this.step === this.data.clicks.length && !this.isBusy ? this.list.length : this.step;
    this.list.forEach((line, at) => {
      line.classList.toggle("done", at < done);
      line.toggleAttribute("aria-current", false);
      if (at === done) line.setAttribute("aria-current", "step");
      line.querySelector("[data-glyph]").replaceChildren(at < done ? icon("check") : `${at + 1}`);
    });
    if (next) this.say(this.step ? `${this.data.frames[this.data.start + this.step].sentence} ${next.coach}` : next.coach);
  }
}

for (const root of document.querySelectorAll("[data-first-minute]")) new FirstMinute(root);
