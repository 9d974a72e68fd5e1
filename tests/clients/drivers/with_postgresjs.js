// postgres.js.

const fs = require("node:fs");
const path = require("node:path");
const postgres = require("postgres");
const { pipeline } = require("node:stream/promises");
const { Readable } = require("node:stream");
const { TITLE, acrossChanges } = require("./across_changes.js");
const { WHERE, check, run, tried } = require("./trial.js");

const sql = postgres({ ...WHERE, max: 3, onnotice: () => {} });

tried("a table, rows with parameters, values of every kind", async () => {
  await sql`DROP TABLE IF EXISTS pjs`;
  await sql`CREATE TABLE pjs (id serial PRIMARY KEY, n int, w text, f float8, b boolean, t timestamptz, u uuid)`;
  const row = { n: 7, w: "wörd", f: 0.1, b: true, t: new Date("2026-01-02T03:04:05.678Z"), u: "00000000-0000-0000-0000-000000000005" };
  await sql`INSERT INTO pjs ${sql(row)}`;
  check({ ...(await sql`SELECT n, w, f, b, t, u FROM pjs`)[0] }, row);
});
tried("many rows at once, IN with a list, = ANY with an array", async () => {
  await sql`INSERT INTO pjs ${sql([{ n: 1, w: "a" }, { n: 2, w: "b" }], "n", "w")}`;
  check((await sql`SELECT n FROM pjs WHERE n IN ${sql([1, 2])} ORDER BY n`).map((r) => r.n), [1, 2]);
  check((await sql`SELECT n FROM pjs WHERE n = ANY(${[1, 2]}) ORDER BY n`).map((r) => r.n), [1, 2]);
});
tried("array columns: arrays both ways, NULLs, = ANY of a column, unnest; jsonb, numeric, bytea", async () => {
  await sql`DROP TABLE IF EXISTS pjs_lists`;
  await sql`CREATE TABLE pjs_lists (id int PRIMARY KEY, n int[], w text[], f float8[], m numeric(8,2)[], j jsonb, y bytea)`;
  const row = { id: 1, n: [1, null, 3], w: ["a", 'b"c', "d,e", ""], f: [0.5, -2.5], m: ["1.50"], j: { a: [1] } };
  await sql`INSERT INTO pjs_lists ${sql({ ...row, j: sql.json(row.j), y: Buffer.from([0, 255]) })}`;
  const [found] = await sql`SELECT * FROM pjs_lists`;
  check({ ...found, y: [...found.y] }, { ...row, y: [0, 255] });
  check((await sql`SELECT id FROM pjs_lists WHERE ${"d,e"} = ANY(w) AND n @> ${[3]}`)[0].id, 1);
  await sql`INSERT INTO pjs_lists (id, w) SELECT a, ARRAY[b] FROM unnest(${[10, 11]}::int[], ${["p", "q"]}::text[]) AS x (a, b)`;
  check((await sql`SELECT w FROM pjs_lists WHERE id > 9 ORDER BY id`).map((r) => r.w), [["p"], ["q"]]);
});
tried("begin and savepoint", async () => {
  await sql.begin(async (inner) => {
    await inner`INSERT INTO pjs (n) VALUES (1000)`;
    await inner.savepoint((deep) => deep`INSERT INTO pjs (id) VALUES (1)`).catch(() => {});
  });
  check((await sql`SELECT count(*)::int AS c FROM pjs WHERE n = 1000`)[0].c, 1);
});
tried("COPY in and out", async () => {
  await pipeline(Readable.from(["5000\ta\n", "5001\tb\n"]), await sql`COPY pjs (n, w) FROM STDIN`.writable());
  let text = "";
  for await (const piece of await sql`COPY (SELECT n, w FROM pjs WHERE n >= 5000 ORDER BY n) TO STDOUT`.readable()) text += piece;
  check(text, "5000\ta\n5001\tb\n");
});
tried("a cursor, read in parts", async () => {
  let seen = 0;
  for await (const rows of sql`SELECT id FROM pjs`.cursor(2)) seen += rows.length;
  check(seen, 6);
});
tried("a statement that was prepared, across a new column", async () => {
  const one = postgres({ ...WHERE, max: 1, onnotice: () => {} });
  const all = () => one`SELECT * FROM pjs WHERE id = ${1}`;
  const before = Object.keys((await all())[0]).length;
  await sql`ALTER TABLE pjs ADD COLUMN extra int DEFAULT 7`;
  check(Object.keys((await all())[0]).length, before + 1);
  await one.end();
});

// Statements that the driver prepares, keeps, and prepares again by itself.
const prepared = async (port) => {
  const one = postgres({ ...WHERE, port, max: 1, onnotice: () => {} });
  return {
    prepareAgain: () => { throw new Error("the driver does that"); },
    ask: async (_, text, values) => {
      const rows = await one.unsafe(text, values, { prepare: true });
      const columns = rows.columns || [];
      return [columns.map((column) => [column.name, column.type]), rows.map((row) => columns.map((c) => row[c.name])), rows.count];
    },
  };
};
const change = async (port, text) => {
  const other = postgres({ ...WHERE, port, max: 1, onnotice: () => {} });
  await other.unsafe(text);
  await other.end();
};
tried(TITLE, () => acrossChanges("pjs_prepared", prepared, change));

const manifest = path.join(path.dirname(require.resolve("postgres")), "..", "..", "package.json");
run("postgres.js", JSON.parse(fs.readFileSync(manifest, "utf8")).version);
