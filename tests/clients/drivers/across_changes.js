// Prepared statements while their table goes through schema_changes.tsv: as across_changes.py, which says what is right.

const fs = require("node:fs");
const path = require("node:path");
const { check } = require("./trial.js");

const TITLE = "prepared statements across schema changes";
const LINES = fs.readFileSync(path.join(__dirname, "schema_changes.tsv"), "utf8").trimEnd().split("\n").map((line) => line.split("\t"));
const OIDS = { int4: 23, int8: 20, numeric: 1700, text: 25, varchar: 1043 };
const SHAPES = LINES.map(([columns]) => columns.split(" ").map((column) => column.split(":")));
const PORTS = (process.env.PGPORTS || process.env.PGPORT).split(",").map(Number);
const WORKERS = 3, KEYS = 1000, SUCCESSES = 15, SECONDS_MAX = 240;

const STATEMENTS = {
  put: ["INSERT INTO {t} (id, n) VALUES ($1, $2) RETURNING *", "id", "n"],
  "put both": ["INSERT INTO {t} (id, n, w) VALUES ($1, $2, $3)", "id", "n", "w"],
  add: ["UPDATE {t} SET n = n + $1 WHERE id = $2 RETURNING *", "n", "id"],
  write: ["UPDATE {t} SET w = $1 WHERE id = $2 RETURNING id, w", "w", "id"],
  get: ["SELECT * FROM {t} WHERE id = $1", "id"],
  range: ["SELECT id, n FROM {t} WHERE id >= $1 AND id < $2 ORDER BY id", "low", "high"],
  sum: ["SELECT count(*) AS c, sum(n) AS s FROM {t} WHERE id >= $1 AND id < $2", "low", "high"],
  take: ["DELETE FROM {t} WHERE id = $1 RETURNING *", "id"],
  drop: ["DELETE FROM {t} WHERE id = $1", "id"],
};

// Of int8 and numeric, drivers make texts.
const shown = (value, kind) => (value === null || kind === "int4" ? value : String(value));
const answer = (columns, rows, count) =>
  JSON.stringify([columns.map(([name, kind]) => [name, OIDS[kind]]), rows.map((row) => row.map((value, n) => shown(value, columns[n][1]))), count]);

class Worker {
  constructor(table, door, low, progress) {
    Object.assign(this, { table, door, low, progress, rows: new Map(), counts: {}, succeeded: 0, succeededAt: {}, preparedAt: {} });
  }

  async work() {
    while (!this.progress.isOver) await this.step();
  }

  async step() {
    const random = (below) => Math.floor(Math.random() * below);
    const key = this.low + random(40), names = Object.keys(STATEMENTS);
    let name = this.rows.has(key) ? names[random(names.length)] : ["put", "put both", "get", "range", "add"][random(5)];
    if (this.rows.has(key) && name.startsWith("put")) name = "add";
    const values = { id: key, n: random(1000), w: `w${random(1000)}`, low: this.low, high: this.low + KEYS };
    const [sql, ...parameters] = STATEMENTS[name], first = this.progress.done;
    let found;
    try {
      found = await this.door.ask(name, sql.replace("{t}", this.table), parameters.map((one) => values[one]));
    } catch (error) {
      this.judgeError(name, error, first);
      return;
    }
    this.count(name);
    this.succeeded += 1;
    this.succeededAt[name] = first;
    this.preparedAt[name] ??= first;
    const before = this.rows.get(key);
    this.write(name, key, values);
    const expected = SHAPES.slice(first, this.progress.begun + 1).map((shape) => this.expected(name, key, before, shape));
    if (!expected.includes(JSON.stringify(found))) {
      throw new Error(`${name} of ${key} was answered ${JSON.stringify(found)}, not one of ${expected}`);
    }
  }

  // So many have succeeded, and of each statement one since the last change where that is asked for.
  hasDone(until, ofEach) {
    const names = ofEach ? Object.keys(STATEMENTS) : [];
    return this.succeeded >= until && names.every((name) => (this.succeededAt[name] ?? -1) >= this.progress.done);
  }

  count(what) {
    this.counts[what] = (this.counts[what] || 0) + 1;
  }

  judgeError(name, error, first) {
    const last = this.progress.begun, code = error.code;
    this.count(code || error);
    const isNamed = SHAPES.slice(first, last + 1).every((shape) => shape.some(([column]) => column === "w"));
    const isChanged = code === "0A000" && error.message.includes("cached") && (this.preparedAt[name] ?? first) < last;
    const isAbsent = code === "42703" && ["put both", "write"].includes(name) && !isNamed;
    if (!isChanged && !isAbsent && code !== "40001") throw error;
    if (isChanged) {
      delete this.preparedAt[name];
      this.door.prepareAgain(name);
    }
  }

  write(name, key, { n, w }) {
    const row = this.rows.get(key);
    if (name === "put") this.rows.set(key, [n, null]);
    else if (name === "put both") this.rows.set(key, [n, w]);
    else if (name === "add" && row) this.rows.set(key, [row[0] + n, row[1]]);
    else if (name === "write" && row) this.rows.set(key, [row[0], w]);
    else if (name === "take" || name === "drop") this.rows.delete(key);
  }

  expected(name, key, before, shape) {
    const types = Object.fromEntries(shape), row = name === "take" ? before : this.rows.get(key);
    if (name === "put both" || name === "drop") return answer([], [], 1);
    if (name === "write") return answer([["id", "int4"], ["w", types.w]], [[key, row[1]]], 1);
    const all = [...this.rows].sort(([a], [b]) => a - b).map(([id, [n]]) => [id, n]);
    if (name === "range") return answer(shape.slice(0, 2), all, all.length);
    if (name === "sum") {
      const total = all.length ? all.reduce((sum, [, n]) => sum + n, 0) : null;
      return answer([["c", "int8"], ["s", types.n === "int4" ? "int8" : "numeric"]], [[all.length, total]], 1);
    }
    if (!row) return answer(shape, [], 0);
    const known = { id: key, n: row[0], w: row[1], word: row[1], seven: 7 };
    return answer(shape, [shape.map(([column]) => known[column])], 1);
  }
}

// `connected(port)` is a door; `change(port, sql)` changes the table.
async function acrossChanges(table, connected, change) {
  const there = PORTS[PORTS.length - 1], progress = { begun: 0, done: 0, isOver: false };
  await change(there, `DROP TABLE IF EXISTS ${table}`);
  await change(there, LINES[0][1].replaceAll("{t}", table));
  const workers = [];
  for (let n = 0; n < WORKERS; n++) {
    workers.push(new Worker(table, await connected(PORTS[n % PORTS.length]), n * KEYS, progress));
  }
  const changes = async () => {
    for (const [, ddl] of [...LINES.slice(1), [null, null]]) {
      const until = workers.map((worker) => worker.succeeded + SUCCESSES), late = Date.now() + SECONDS_MAX * 1000;
      const ofEach = progress.done === 1 || !ddl;
      while (!progress.isOver && !workers.every((worker, n) => worker.hasDone(until[n], ofEach))) {
        if (Date.now() > late) throw new Error(`not done after ${SECONDS_MAX} s: ${JSON.stringify(workers.map((one) => one.counts))}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      if (progress.isOver || !ddl) break;
      progress.begun += 1;
      await change(there, ddl.replaceAll("{t}", table));
      progress.done += 1;
    }
  };
  const over = () => { progress.isOver = true; };
  const ends = await Promise.allSettled([changes().finally(over), ...workers.map((worker) => worker.work().finally(over))]);
  for (const { reason } of ends) if (reason) throw reason;
  const ledger = workers.flatMap((worker) => [...worker.rows].map(([id, [n, w]]) => [id, n, w])).sort(([a], [b]) => a - b);
  const found = await workers[0].door.ask("all", `SELECT id, n, w FROM ${table} WHERE id >= $1 ORDER BY id`, [0]);
  check(found[1], ledger);
  console.error(table, JSON.stringify(workers.map((worker) => worker.counts)));
}

module.exports = { TITLE, acrossChanges };
