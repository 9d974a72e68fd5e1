/* What happened, as spans of time: all that the picture draws is a function of this and of a moment. Times are seconds
   since 1970 on the server's clock. A use that lasts has no end (`ended` is null). */

const TOLD = new Set(["left", "draining", "undrained", "revoked"]); // of a node that answers
const WAIT_S_LEAST = 1;

/** The facts of a window, as the server read them. */
export class History {
  constructor() { Object.assign(this, { uses: [], versions: [], downs: [], runs: [], works: [], marks: [], counts: [], table: null, leaseS: 30, start: 0 }); }

  setFacts(facts) {
    this.table = facts.table; this.start = facts.start; this.counts = facts.counts ?? []; this.leaseS = facts.lease_s;
    this.versions = facts.versions.map((one) => ({ ...one }));
    this.uses = facts.uses.map((use) => ({ ...use }));
    this.works = facts.works; this.runs = facts.runs.map((run) => ({ ...run })); this.downs = [];
    for (const mark of facts.marks) this.mark(mark.at, mark.kind, mark.node);
    this.marks = facts.marks.filter((mark) => TOLD.has(mark.kind) && mark.at >= facts.start);
    this.nameElements();
  }

  mark(at, kind, node) {
    const open = this.downs.find((down) => down.node === node && down.to === null);
    if (["killed", "crashed", "frozen", "silent"].includes(kind)) {
      if (!open) this.downs.push({ node, from: at, to: null, kind });
      else if (open.kind === "silent") Object.assign(open, { kind, from: Math.min(open.from, at) });
    } else if (open && ["thawed", "back", "joined"].includes(kind) && at >= open.from) open.to = at;
  }

  /** A version at rest is named by the element that moves after it, or moved before it. */
  nameElements() {
    this.versions.forEach((version, i) => {
      version.of ||= this.versions[i + 1]?.of || this.versions[i - 1]?.of || "";
    });
  }

  nodes(_t) { return byNumber([...new Set(this.uses.map((use) => use.node))]); }
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
  work(t) { return this.runs.findLast((one) => one.began <= t && (one.ended === null || t < one.ended)); }
}

export const byNumber = (names) => names.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
