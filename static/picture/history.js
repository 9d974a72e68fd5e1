/* What happened, as spans of time: all that the picture draws is a function of this and of a moment.

     facts    the time until this page opened, as the server read it
     now      leases, holders and the change, each time one of them differs
     pulse    statements, traffic and entries of a second
     event    a sentence of the story, with its time

   Times are seconds since 1970 on the server's clock. A use that lasts has no end (`ended` is null). */

const FALLS = { "process killed": "killed", "process crashed": "crashed", "process frozen": "frozen", "node silent": "silent", "node silent without leases": "silent" };
const RISES = new Set(["process thawed", "node back", "node joined"]);
const WAIT_S_LEAST = 1, KEPT = 900;
const s = (iso) => (iso ? Date.parse(iso) / 1000 : null);
const lastBefore = (list, t) => list.findLast((one) => one.at <= t);

export class History {
  constructor() { Object.assign(this, { states: [], pulses: [], story: [], uses: [], versions: [], downs: [], runs: [], works: [], table: null, leaseS: 30, start: 0 }); }

  /** The facts begin anew: after a gap, or when another table moves. */
  setFacts(facts) {
    if (!facts.table) return;
    this.table = facts.table; this.start = facts.start; this.leaseS = facts.lease_s;
    this.versions = facts.versions.map((one) => ({ ...one }));
    const holds = new Map(this.uses.map((use) => [`${use.node} ${use.version}`, use.holds]));
    this.uses = facts.uses.map((use) => ({ ...use, holds: use.holds.length ? use.holds : holds.get(`${use.node} ${use.version}`) ?? [] }));
    this.works = facts.works; this.runs = facts.runs.map((run) => ({ ...run })); this.downs = [];
    for (const mark of facts.marks) this.#mark(mark.at, mark.kind, mark.node);
    this.states = this.states.filter((state) => state.table.id === this.table.id);
    for (const state of this.states) this.#merge(state, state.at);
    this.#nameElements();
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
    if (FALLS[event.kind]) this.#mark(s(event.payload.since) ?? at, FALLS[event.kind], node ?? process);
    else if (RISES.has(event.kind)) this.#mark(at, "back", node ?? process);
  }

  #mark(at, kind, node) {
    const open = this.downs.find((down) => down.node === node && down.to === null);
    if (["killed", "crashed", "frozen", "silent"].includes(kind)) {
      if (!open) this.downs.push({ node, from: at, to: null, kind });
      else if (open.kind === "silent") Object.assign(open, { kind, from: Math.min(open.from, at) });
    } else if (open && ["thawed", "back", "joined"].includes(kind) && at >= open.from) open.to = at;
  }

  #merge(now, at) {
    for (const one of now.versions) {
      const known = this.versions.find((version) => version.version === one.version);
      if (known) Object.assign(known, { phase: one.phase, of: one.of || known.of });
      else this.versions.push({ ...one, at: s(one.at) });
    }
    this.versions.sort((a, b) => a.version - b.version);
    this.#nameElements();
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

  /** A version at rest is named by the element that moves after it, or moved before it. A fill is work of the store:
      what nodes use while it lasts is write-only. */
  #nameElements() {
    this.versions.forEach((version, i) => {
      version.of ||= this.versions[i + 1]?.of || this.versions[i - 1]?.of || "";
      if (version.phase === "reorganising") version.phase = "write-only";
    });
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
    const names = (this.state(t) ?? this.states[0])?.nodes.map((node) => node.name) ?? [...new Set(this.uses.map((use) => use.node))];
    return names.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  }
  using(t, node) { return this.uses.filter((use) => use.began <= t && (use.ended === null || t < use.ended) && (!node || use.node === node)); }
  down(t, node) { return this.downs.find((down) => down.node === node && down.from <= t && (down.to === null || t < down.to)); }
  version(number) { return this.versions.find((one) => one.version === number); }
  published(t) { return this.versions.filter((one) => one.at <= t); }
  holder(use, t) { return use.holds.find((hold) => hold.from <= t + 2 && (hold.to === null || t < hold.to)); }

  /** The publisher's waits that have begun by `t`: from a version's publication until no older one is used.
      Whom it waits for is the last to leave; one that has not left comes before all that have. */
  waits(t) {
    return this.versions.flatMap((version, i) => {
      if (!i || version.at > t) return [];
      const older = this.uses.filter((use) => use.version < version.version && use.began <= version.at && (use.ended === null || use.ended > version.at));
      const end = (use) => (use.ended === null || use.ended > t ? Infinity : use.ended);
      const last = older.sort((a, b) => end(b) - end(a) || Number(!this.down(t, a.node)) - Number(!this.down(t, b.node)) || b.holds.length - a.holds.length)[0];
      if (!last) return [];
      const to = end(last) === Infinity ? null : last.ended;
      if ((to ?? t) - version.at < WAIT_S_LEAST) return [];
      const hold = last.holds.find((one) => one.to === null || one.to > version.at);
      return [{ version: version.version, from: version.at, to, node: last.node, held: last.version, until: last.until, use: last,
        who: hold?.who, hold, down: this.downs.find((one) => one.node === last.node && one.from < (to ?? t) && (one.to ?? Infinity) > version.at) }];
    });
  }

  wait(t) { return this.waits(t).findLast((wait) => wait.to === null || t < wait.to); }
  work(t) {
    const run = this.runs.findLast((one) => one.began <= t && (one.ended === null || t < one.ended)), told = this.state(t)?.change?.work;
    return run && { ...run, ...(told?.kind === run.kind ? told : {}) };
  }
  /** The moments worth a step, in order. */
  moments() {
    const all = [...this.versions.map((one) => one.at), ...this.uses.flatMap((use) => [use.began, use.ended]), ...this.downs.flatMap((down) => [down.from, down.to]),
      ...this.runs.flatMap((run) => [run.began, run.ended])].filter((at) => at !== null && at > this.start).sort((a, b) => a - b);
    return all.filter((at, i) => !i || at - all[i - 1] > 0.4);
  }
}
