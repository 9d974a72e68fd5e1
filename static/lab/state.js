/* What the reader does on the stage, and what is shown because of it.

   State is a list of events and a position; everything drawn is the server's answer for them. No rule of the protocol is
   decided here: which steps there are, what they do and what is broken comes in the answer. */

import { letter, taken } from "./branches.js";
import { brokenName, say, worst } from "./pieces.js";
import { Refusal, Unreachable } from "./server.js";

const PAUSE_MS = 1400;
export const SPEEDS = [0.5, 1, 2, 4];
const RUN_STEPS_MAX = 60;
const KEPT = "lab.branches";

/* The words for what the server refused, or that it does not answer; a mistake of ours goes to the console. */
export function wordsOf(error) {
  if (error instanceof Refusal) return error.message;
  if (error instanceof Unreachable) return say("unreachable");
  throw error;
}

export class Stage {
  constructor({ server, answer, notice = "" }) {
    this.server = server;
    this.listeners = new Set();
    this.setup = answer.session.setup;
    this.parameters = answer.session.parameters;
    this.leftOut = answer.session.left_out;
    this.branches = [answer.session.steps];
    this.current = 0;
    this.outcomes = new Map();
    this.single = answer.single_steps;
    this.speed = 1;
    this.seed = 1;
    this.stopsAtDanger = false;
    this.doing = ""; // "playing" or "running"
    this.notice = notice;
    this.problem = "";
    this.needs = null; // ids of the steps that the page needs; null: all
    this.compared = null; // number of the branch beside the current one
    this.calls = 0;
    this.isTaking = false;
    this.accept(answer);
  }

  subscribe(listener) { this.listeners.add(listener); }
  changed() { for (const listener of this.listeners) listener(this); }

  get steps() { return this.branches[this.current]; }
  session(steps = this.steps) { return { setup: this.setup, parameters: this.parameters, left_out: this.leftOut, steps }; }

  /* The positions where the reader may stand: the start, and after each line of the trace. */
  get stops() { return [0, ...this.shown.trace.map((line) => line.until)]; }
  get stop() { return Math.max(0, this.stops.findLastIndex((position) => position <= this.at)); }

  accept(answer) {
    this.answer = answer;
    this.shown = answer.shown;
    this.at = answer.shown.at;
    this.link = answer.link;
    if (answer.shown.refused) {
      const { label, why } = answer.shown.refused;
      this.notice = say("refused", { step: label, why });
      this.branches = this.branches.map((steps, at) => (at === this.current ? steps.slice(0, answer.shown.refused.at) : steps));
    }
    this.outcomes.set(this.steps.join(" "), { stops: answer.shown.trace.map((line) => line.until), worst: worst(answer.shown.trace.map((line) => line.severity)) });
    const kept = new Set(this.branches.map((steps) => steps.join(" ")));
    for (const steps of this.outcomes.keys()) if (!kept.has(steps)) this.outcomes.delete(steps);
  }

  /* Branches outlive the page in this tab: a link has one of them only. */
  remember() {
    const kept = JSON.stringify([this.setup, this.parameters, this.leftOut, this.branches]);
    if (kept !== this.kept) sessionStorage.setItem(KEPT, kept);
    this.kept = kept;
  }

  recall() {
    const [setup, parameters, leftOut, branches] = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
    if (JSON.stringify([setup, parameters, leftOut]) !== JSON.stringify([this.setup, this.parameters, this.leftOut])) return;
    const steps = this.steps.join(" "), current = branches.findIndex((one) => one.join(" ") === steps);
    if (current >= 0) [this.branches, this.current] = [branches, current];
  }

  go(at) {
    return this.asked(() => this.server.show(this.session(), at, this.single), (answer) => this.accept(answer));
  }

  /* An answer that comes late is dropped. */
  async asked(ask, take) {
    const call = (this.calls += 1);
    try {
      const answer = await ask();
      if (call !== this.calls) return;
      this.problem = "";
      take(answer);
    } catch (error) {
      const words = wordsOf(error);
      if (call !== this.calls) return;
      this.pause();
      this.problem = words;
    }
    this.changed();
  }

  toStop(number) { return this.go(this.stops[Math.min(Math.max(number, 0), this.stops.length - 1)]); }
  first() { this.pause(); return this.toStop(0); }
  back() { this.pause(); return this.toStop(this.stop - 1); }
  next() { return this.toStop(this.stop + 1); }
  last() { this.pause(); return this.toStop(this.stops.length - 1); }
  get isFirst() { return this.stop === 0; }
  get isLast() { return this.stop === this.stops.length - 1; }

  /* One step in flight at a time: a second click was meant for what the first one has changed by then. */
  async take(offer) {
    if (this.isTaking) return;
    this.isTaking = true;
    this.pause();
    this.notice = "";
    try {
      await this.follow([...this.steps.slice(0, this.at), ...offer.takes]);
    } finally {
      this.isTaking = false;
    }
  }

  async follow(steps, answer = null) {
    const before = this.branches.length;
    ({ branches: this.branches, current: this.current } = taken(this.branches, this.current, steps));
    if (this.branches.length > before) this.notice = say("forked", { branch: letter(this.current) });
    if (answer && answer.session.steps.length === this.steps.length) {
      this.server.keep(this.session(), answer.shown.at, this.single, answer);
      this.calls += 1;
      this.accept(answer);
      this.changed();
    } else await this.go(steps.length);
  }

  toBranch(number) {
    this.pause();
    this.current = number;
    this.notice = "";
    if (this.compared === number) this.compared = null;
    return this.go(this.steps.length);
  }

  /* From these steps again; what was done is not kept. */
  startOver(steps) {
    return this.configure({ setup: this.setup, parameters: this.parameters, leftOut: this.leftOut, steps });
  }

  dropBranch(number) {
    this.branches = this.branches.filter((_, at) => at !== number);
    if (this.current >= number && this.current > 0) this.current -= 1;
    this.compared = null;
    return this.go(Math.min(this.at, this.steps.length));
  }

  compare(number) {
    this.compared = number;
    this.changed();
  }

  /* Another set-up, other parameters or rules: the same steps as far as they can be taken. Nothing changes before the
     server has accepted them. */
  configure({ setup, parameters, leftOut, steps = this.steps, single = this.single }) {
    this.pause();
    return this.asked(() => this.server.show({ setup, parameters, left_out: leftOut, steps }, steps.length, single), (answer) => {
      Object.assign(this, { setup, parameters, leftOut, single, branches: [steps], current: 0, compared: null, notice: "" });
      this.outcomes.clear();
      this.accept(answer);
    });
  }

  async setSingle(single) {
    this.single = single;
    this.outcomes.clear();
    await this.go(this.at);
    if (this.stops[this.stop] !== this.at) await this.toStop(this.stop);
  }

  /* Plays what was recorded; "runs" lets the server pick steps until something breaks. */
  pause() { this.doing = ""; }
  play() {
    if (this.doing === "playing") return this.stopNow();
    this.doing = "playing";
    return this.repeat("playing", async () => {
      await this.next();
      return !this.isLast;
    }, this.isLast ? () => this.toStop(0) : null);
  }

  run() {
    if (this.doing === "running") return this.stopNow();
    this.doing = "running";
    this.notice = "";
    let left = RUN_STEPS_MAX;
    return this.repeat("running", async () => {
      const answer = await this.server.step(this.session(this.steps.slice(0, this.at)), this.at, this.single, this.seed);
      if (this.doing !== "running") return false;
      if (!answer.took) return this.ended(say("nothing left"));
      await this.follow(answer.session.steps, answer);
      const broken = this.shown.verdicts.filter((one) => one.severity === "damage" || this.stopsAtDanger);
      if (broken.length) return this.ended(say("stopped at", { clause: broken.map((one) => brokenName(one)).join(say("between names")) }));
      left -= 1;
      return left > 0 || this.ended(say("ran far", { n: RUN_STEPS_MAX }));
    });
  }

  ended(words) {
    this.notice = words;
    return false;
  }

  stopNow() {
    this.pause();
    this.changed();
  }

  async repeat(what, once, before = null) {
    this.changed();
    try {
      if (before) await before();
      while (this.doing === what && (await once())) await new Promise((resume) => setTimeout(resume, PAUSE_MS / this.speed));
    } catch (error) {
      this.problem = wordsOf(error);
    }
    if (this.doing === what) this.pause();
    this.changed();
  }
}
