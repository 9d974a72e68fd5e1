/* A page with a ladder: a task of a chapter, whose form is sent and whose answer comes back with the page, or free play,
   where each run is asked for here.

   [data-ladder]          where it is built; the JSON of its data is in the element that it names
   [data-ladder-lines]    the field of a task's form that gets the order
   [data-ladder-ending]   what is shown when the run has ended */

import { Ladder } from "./ladder.js";
import { announce, fill, h, icon, still, toSight } from "./ladder-parts.js";
import { LadderStage, Player } from "./ladder-play.js";
import { Refusal, Server, Unreachable } from "./server.js";

const LOOK_MS = 300;
const TALL_PX = 760; // below, the ladder runs from top to bottom, and its run stands under it

/* What was tried, folded: its picture is fetched once it is unfolded. */
function triedFolded(answer, data, order, summary) {
  return h("details", { ontoggle: async ({ target }) => { if (target.open && !target.querySelector("figure")) target.append((await import("./ladder-tried.js")).tried(answer, data, order)); } }, h("summary", {}, summary));
}

class Page {
  constructor(root) {
    this.root = root;
    this.data = JSON.parse(document.getElementById(root.dataset.ladder).textContent);
    this.words = this.data.words;
    this.form = root.closest("form");
    this.lines = this.form?.querySelector("[data-ladder-lines]");
    this.verdict = h("p", { class: "ladder-verdict" });
    this.stageBox = h("div", { class: "ladder-run" });
    this.ladder = new Ladder({ data: this.data, order: this.data.order ?? [], isSilent: this.data.isSilent, onChange: () => this.changed() });
    if (!document.getElementById("ladder-then")) root.append(h("p", { class: "hush", id: "ladder-then", "aria-live": "polite" }), h("p", { class: "hush", id: "ladder-now", "aria-live": "assertive" }));
    root.append(this.ladder.element, this.verdict, this.stageBox);
    this.lines?.addEventListener("input", () => this.read());
    if (this.data.answer) this.reveal(this.data.answer);
    this.changed();
  }

  changed() {
    const lines = [...(this.data.sends ?? []), ...this.ladder.values].join("\n");
    if (this.lines && !this.isReading) this.lines.value = this.ladder.order.length ? lines : "";
    if (!this.ladder.isLocked) this.verdict.textContent = this.ladder.sentence;
  }

  /* The same as text, both ways: the ladder shows it while each line is one of its tiles. */
  read() {
    const sends = this.data.sends ?? [], lines = this.lines.value.split("\n").map((line) => line.trim()).filter(Boolean);
    const own = lines.slice(0, sends.length).join() === sends.join() ? lines.slice(sends.length) : lines;
    this.isReading = true;
    if (this.ladder.placesOf(own).length === own.length) this.ladder.setValues(own);
    this.isReading = false;
  }

  /* An answer that is there: it is played, and its verdict comes when it has ended. */
  reveal(answer, ghost = "", ends = (given) => this.ended(given)) {
    if (!answer.played) return ends(answer);
    this.ladder.lock(true);
    this.verdict.textContent = "";
    const stage = new LadderStage({ data: this.data, order: this.ladder.order, played: answer.played, ghost });
    const player = new Player({ stage, ladder: this.ladder, ends: () => ends(answer) });
    this.stageBox.replaceChildren(player.element);
    for (const one of document.querySelectorAll("[data-ladder-ending]")) one.hidden = true;
    this.form?.classList.add("is-played");
    player.to(0).then(() => {
      toSight(innerWidth < TALL_PX ? player.element : this.root);
      if (!still.matches) player.play();
    });
  }

  /* In a task: the outcome is shown, and the order may be changed. */
  ended(answer) {
    for (const one of document.querySelectorAll("[data-ladder-ending]")) one.hidden = false;
    if (answer?.tried?.length) this.stageBox.append(triedFolded(answer, this.data, [...this.ladder.order], this.words["what was tried"]));
    const outcome = document.getElementById("outcome");
    if (!this.data.isPassed) this.stageBox.append(h("p", {}, h("button", { type: "button", class: "first", onclick: () => this.again() }, icon("undo-2"), this.words.change)));
    outcome?.focus({ preventScroll: true });
    announce(outcome?.innerText ?? answer?.title ?? "", true);
  }

  again() {
    this.stageBox.replaceChildren();
    this.ladder.lock(false);
    this.form?.classList.remove("is-played");
    this.changed();
    this.ladder.element.scrollIntoView({ block: "nearest" });
    (this.ladder.element.querySelector(".ladder button.tile") ?? this.ladder.element.querySelector("button.tile"))?.focus({ preventScroll: true });
  }
}

/* Free play: runs are asked for here, each with a prediction; orders that were tried stay. */
class FreePage extends Page {
  constructor(root) {
    super(root);
    this.server = new Server({ csrf: root.dataset.csrf });
    this.tried = new Map();
    this.run = h("button", { type: "button", class: "first", onclick: () => this.ask() }, icon("play"), this.words.run);
    this.stop = h("button", { type: "button", hidden: true, onclick: () => { this.isStopped = true; } }, this.words.stop);
    this.guesses = h("fieldset", { class: "choices" }, h("legend", {}, this.words.predict), this.data.predictions.map(([value, words]) => h("label", { class: "check" }, h("input", { type: "radio", name: root.dataset.ladder === "ladder-data" ? "predicted" : `predicted-${root.dataset.ladder}`, value }), h("span", {}, words))));
    this.list = h("div", { class: "orders" });
    this.bar = h("div", { class: "runbar" }, this.guesses, h("div", { class: "row" }, this.run, this.stop));
    root.insertBefore(this.bar, this.stageBox);
    root.insertBefore(this.list, this.stageBox);
    this.changed();
  }

  changed() {
    super.changed();
    this.run?.setAttribute("aria-disabled", String(!this.ladder.order.length));
  }

  async ask() {
    const guess = this.guesses.querySelector(":checked");
    if (!this.ladder.order.length) return;
    if (!guess) {
      this.verdict.textContent = this.words.choose;
      announce(this.words.choose, true);
      return this.guesses.querySelector("input").focus();
    }
    const { element, ground } = this.data, tiles = this.ladder.values;
    this.isStopped = false;
    this.stageBox.replaceChildren();
    this.ladder.lock(true);
    try {
      let answer = await this.server.post(this.root.dataset.url, { element, ground: ground.value, tiles, nodes: this.data.nodes, predicted: guess.value, names: this.data.names ?? "" });
      while (answer.state !== "done" && !this.isStopped) {
        this.stop.hidden = false;
        this.verdict.textContent = answer.state === "waiting" ? fill(this.words.waiting, answer) : fill(this.words["tried n"], { states: answer.states ?? 0 });
        await new Promise((go) => setTimeout(go, Math.max((answer.again_s ?? 0) * 1000, LOOK_MS)));
        answer = (await this.server.look(`${this.root.dataset.url}${answer.id}/?${new URLSearchParams({ predicted: guess.value, names: this.data.names ?? "" })}`)) ?? answer;
        if (answer.state === "stopped") this.isStopped = true;
      }
      if (this.isStopped) return this.given(this.words.stopped);
      const words = this.data.predictions.find(([value]) => value === guess.value)[1];
      this.bar.hidden = Boolean(answer.played);
      this.reveal(answer, words, () => this.told(answer));
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
      this.given(error.message || this.words["no answer"]);
    } finally {
      this.stop.hidden = true;
    }
  }

  given(words) {
    this.ladder.lock(false);
    this.verdict.textContent = words;
    announce(words, true);
  }

  /* The ending: what happened, and one way on. Where nothing is played, the order may be run again as it is. */
  told(answer) {
    if (!answer.played) {
      this.ladder.lock(false);
      this.changed();
    }
    const { played } = answer, kind = answer.verdict === "violated" ? "danger" : answer.arrives ? "ok" : "warn", { words } = this;
    const rows = (found) => found.map((one) => fill(words.row, { row: one })).join(", ") || words["no row"];
    const more = [
      played?.shortest && words.shortest,
      answer.bounds && fill(words.bounds, { bounds: answer.bounds }),
      played?.anomaly && `${played.clause}, v${played.version}`,
      answer.others.length > 0 && fill(words.others, { what: answer.others.map((one) => one.name).join(", ") }),
      ...answer.happened,
    ].filter(Boolean);
    const card = h("section", { class: `note ${kind} ending`, tabindex: "-1" }, h("strong", {}, icon({ danger: "octagon-alert", ok: "check", warn: "triangle-alert" }[kind]), answer.title), answer.lines?.map((line) => h("p", {}, line)),
      played?.query && kind === "danger" && h("p", {}, h("code", {}, played.query.text), " ", fill(words.finds, { table: rows(played.query.by_table), index: rows(played.query.by_index) })),
      h("details", {}, h("summary", {}, words.why), h("ul", {}, more.map((one) => h("li", {}, one))), played?.link && h("p", {}, h("a", { href: `${this.root.dataset.stage}?s=${played.link}` }, words["on the stage"])), answer.tried?.length > 0 && triedFolded(answer, this.data, [...this.ladder.order], words["what was tried"])),
      h("p", {}, h("button", { type: "button", class: "first", onclick: () => this.again() }, icon("undo-2"), words.change)));
    this.stageBox.append(card);
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest", behavior: still.matches ? "auto" : "smooth" });
    announce(answer.title, true);
    this.tried.set(this.ladder.values.join(), [[...this.ladder.order], kind]);
    this.list.replaceChildren(h("h3", {}, words["tried orders"]), ...[...this.tried.values()].map(([order, ended]) => h("button", { type: "button", class: `small ${ended}`, onclick: () => { this.again(); this.ladder.set(order); } }, icon({ danger: "x", ok: "check", warn: "triangle-alert" }[ended]), order.map((at) => this.data.tiles[at].text).join(" \u2192 "))));
  }

  again() {
    super.again();
    this.bar.hidden = false;
  }
}

/* Runs that answer a prediction, one below the other: the first plays at once, each other one when it is asked for. */
function playAll(root) {
  const { runs, words } = JSON.parse(document.getElementById(root.dataset.runs).textContent);
  root.append(h("p", { class: "hush", id: "ladder-then", "aria-live": "polite" }));
  runs.forEach((run, at) => {
    const box = h("details", { class: "answer-run", open: at === 0 }, h("summary", {}, h("b", {}, run.title || words["what was tried"]), run.tried_words && [" \u00b7 ", run.tried_words]));
    let player = null;
    const open = () => {
      if (!box.open || player) return;
      const data = { ...run, words }, order = run.tiles.map((_, n) => n);
      player = new Player({ stage: new LadderStage({ data, order, played: run.played, ghost: run.predicted }) });
      box.append(player.element);
      player.to(0).then(() => {
        toSight(player.element);
        if (!still.matches) player.play();
      });
    };
    box.addEventListener("toggle", open);
    root.append(box);
    open();
  });
}
for (const root of document.querySelectorAll("[data-runs]")) playAll(root);

for (const root of document.querySelectorAll("[data-ladder]")) new (root.hasAttribute("data-url") ? FreePage : Page)(root);
