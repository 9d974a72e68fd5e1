/* The history that goes on while a page is open.

     facts    the time until this page opened, as the server read it
     now      leases, holders and the change, each time one of them differs
     pulse    statements, traffic and entries of a second
     event    a sentence of the story, with its time */

import { History, byNumber } from "./history.js";

const FALLS = { "process killed": "killed", "process crashed": "crashed", "process frozen": "frozen", "node silent": "silent", "node silent without leases": "silent" };
const RISES = new Set(["process thawed", "node back", "node joined"]);
const KEPT = 900;
const s = (iso) => (iso ? Date.parse(iso) / 1000 : null);
const lastBefore = (list, t) => list.findLast((one) => one.at <= t);

export const isOpen = (change) => !["done", "failed", "cancelled"].includes(change.status);

export class Present extends History {
  constructor() { super(); Object.assign(this, { states: [], pulses: [], story: [] }); }

  /** The facts begin anew: after a gap, or when another table moves. */
  setFacts(facts) {
    if (!facts.table) return;
    const holds = new Map(this.uses.map((use) => [`${use.node} ${use.version}`, use.holds]));
    super.setFacts(facts);
    for (const use of this.uses) if (!use.holds.length) use.holds = holds.get(`${use.node} ${use.version}`) ?? [];
    this.states = this.states.filter((state) => state.table.id === this.table.id);
    for (const state of this.states) this.#merge(state, state.at);
    this.nameElements();
  }

  /** True when the facts are of another table: they have to be asked for. */
  addNow(now, at) {
    if (!now.table) return false;
    if (now.table.id !== this.table?.id) return true;
    this.states.push({ ...now, at });
    if (this.states.length > KEPT) this.states.shift();
    this.#merge(now, at);
    return false;
  }

  addPulse(pulse, at) { this.pulses.push({ ...pulse, at }); if (this.pulses.length > KEPT) this.pulses.shift(); }

  addEvent(event) {
    const at = s(event.at), { node, process } = event.payload ?? {};
    if (this.story.some((one) => one.seq === event.seq)) return;
    this.story.push({ at, seq: event.seq, sentence: event.sentence });
    if (this.story.length > KEPT) this.story.shift();
    if (FALLS[event.kind]) this.mark(s(event.payload.since) ?? at, FALLS[event.kind], node ?? process);
    else if (RISES.has(event.kind)) this.mark(at, "back", node ?? process);
  }

  #merge(now, at) {
    for (const one of now.versions) {
      const known = this.versions.find((version) => version.version === one.version);
      if (known) Object.assign(known, { phase: one.phase, of: one.of || known.of });
      else this.versions.push({ ...one, at: s(one.at) });
    }
    this.versions.sort((a, b) => a.version - b.version);
    this.nameElements();
    const leased = new Set(now.leases.map((one) => `${one.node} ${one.version}`));
    for (const use of this.uses) {
      if (use.ended === null && use.began <= at && !leased.has(`${use.node} ${use.version}`)) use.ended = Math.min(at, use.until);
    }
    for (const one of now.leases) {
      let use = this.uses.find((other) => other.node === one.node && other.version === one.version && other.ended === null);
      if (!use) this.uses.push(use = { node: one.node, version: one.version, began: s(one.began), ended: null, holds: [] });
      use.until = s(one.until);
      const names = new Set(one.holders.map((holder) => holder.session));
      for (const hold of use.holds) if (hold.to === null && !names.has(hold.session)) hold.to = at;
      for (const holder of one.holders) if (!use.holds.some((hold) => hold.session === holder.session && hold.to === null)) use.holds.push({ ...holder, from: at, to: null });
    }
    const work = now.change?.work;
    for (const run of this.runs) if (run.ended === null && !(work && work.kind === run.kind && work.version === run.version)) run.ended = at;
    if (work && !this.runs.some((run) => run.kind === work.kind && run.version === work.version && run.change === now.change.id)) {
      this.runs.push({ kind: work.kind, version: work.version, change: now.change.id, began: at, ended: null });
    }
  }

  /** Before this page knew it, a change has its statement from its beginning on; how far it was is not known. */
  state(t) {
    const known = lastBefore(this.states, t), { change, ...first } = this.states[0] ?? {};
    if (known || !change || !this.works.some((work) => work.change === change.id && work.began <= t && t < (work.ended ?? Infinity))) return known;
    return { ...first, change: { ...change, status: "running", next: [], work: null } };
  }
  pulse(t) { return lastBefore(this.pulses, t); }
  storages() { return Math.max(this.pulses.at(-1)?.entries?.length ?? 0, 1); }
  nodes(t) {
    const told = (this.state(t) ?? this.states[0])?.nodes;
    return told ? byNumber(told.map((node) => node.name)) : super.nodes(t);
  }
  work(t) {
    const run = super.work(t), told = this.state(t)?.change?.work;
    return run && { ...run, ...(told?.kind === run.kind ? told : {}) };
  }
  /** The moments worth a step, in order. */
  moments() {
    const all = [...this.versions.map((one) => one.at), ...this.uses.flatMap((use) => [use.began, use.ended]), ...this.downs.flatMap((down) => [down.from, down.to]),
      ...this.runs.flatMap((run) => [run.began, run.ended])].filter((at) => at !== null && at > this.start).sort((a, b) => a - b);
    return all.filter((at, i) => !i || at - all[i - 1] > 0.4);
  }
}
