// node-postgres ("pg"), its pool and its streams.

const { Client, Pool } = require("pg");
const { from, to } = require("pg-copy-streams");
const { pipeline } = require("node:stream/promises");
const { Readable } = require("node:stream");
const { TITLE, acrossChanges } = require("./across_changes.js");
const { WHERE, check, run, tried } = require("./trial.js");

const pool = new Pool({ ...WHERE, max: 3 });

tried("a table, rows with parameters, values of every kind", async () => {
  await pool.query("DROP TABLE IF EXISTS njs");
  await pool.query("CREATE TABLE njs (id serial PRIMARY KEY, n int, w text, f float8, b boolean, t timestamptz, u uuid)");
  const values = [7, "wörd", 0.1, true, new Date("2026-01-02T03:04:05.678Z"), "00000000-0000-0000-0000-000000000005"];
  await pool.query("INSERT INTO njs (n, w, f, b, t, u) VALUES ($1, $2, $3, $4, $5, $6)", values);
  const { rows } = await pool.query("SELECT n, w, f, b, t, u FROM njs");
  check(Object.values(rows[0]), values);
});
tried("arrays: = ANY($1)", async () => {
  check((await pool.query("SELECT id FROM njs WHERE id = ANY($1)", [[1, 2]])).rows, [{ id: 1 }]);
});
tried("array columns: arrays both ways, NULLs, = ANY of a column, unnest; jsonb, numeric, interval, bytea", async () => {
  await pool.query("DROP TABLE IF EXISTS njs_lists");
  await pool.query("CREATE TABLE njs_lists (id int PRIMARY KEY, n int[], w text[], f float8[], b boolean[], m numeric(8,2)[], j jsonb, i interval, y bytea)");
  const values = [[1, null, 3], ["a", 'b"c', "d,e", ""], [0.5, -2.5], [true, null], ["1.50"]];
  await pool.query("INSERT INTO njs_lists VALUES (1, $1, $2, $3, $4, $5, $6, $7, $8)", [...values, { a: [1] }, "1 day 02:00:00", Buffer.from([0, 255])]);
  const { rows: [row] } = await pool.query("SELECT * FROM njs_lists");
  check([row.n, row.w, row.f, row.b], values.slice(0, 4));
  check([row.m.map(Number), row.j, row.i.days, row.i.hours, [...row.y]], [[1.5], { a: [1] }, 1, 2, [0, 255]]);
  check((await pool.query("SELECT id FROM njs_lists WHERE $1 = ANY(w) AND n @> $2", ["d,e", [3]])).rows, [{ id: 1 }]);
  await pool.query("INSERT INTO njs_lists (id, w) SELECT a, ARRAY[b] FROM unnest($1::int[], $2::text[]) AS x (a, b)", [[10, 11], ["p", null]]);
  check((await pool.query("SELECT w FROM njs_lists WHERE id > 9 ORDER BY id")).rows, [{ w: ["p"] }, { w: [null] }]);
});
tried("views, temporary tables, WITH that writes", async () => {
  const client = await pool.connect();
  await client.query("CREATE TEMP TABLE njs_own (LIKE njs_lists INCLUDING ALL)");
  const sum = await client.query("WITH made AS (INSERT INTO njs_own (id) VALUES ($1), ($2) RETURNING id) SELECT sum(id)::int AS s FROM made", [1, 2]);
  check(sum.rows, [{ s: 3 }]);
  await client.query("DISCARD TEMP");
  client.release();
  await pool.query("CREATE OR REPLACE VIEW njs_view AS SELECT id, n FROM njs_lists");
  check((await pool.query("SELECT n FROM njs_view WHERE id = $1", [1])).rows, [{ n: [1, null, 3] }]);
  await pool.query("DROP VIEW njs_view");
});
tried("transactions and savepoints on one connection of the pool", async () => {
  const client = await pool.connect();
  await client.query("BEGIN");
  await client.query("INSERT INTO njs (n) VALUES (1000)");
  await client.query("SAVEPOINT a");
  await client.query("INSERT INTO njs (id) VALUES (1)").catch(() => client.query("ROLLBACK TO SAVEPOINT a"));
  await client.query("COMMIT");
  client.release();
  check((await pool.query("SELECT count(*)::int AS c FROM njs WHERE n = 1000")).rows[0].c, 1);
});
tried("errors: a key that is there", async () => {
  const error = await pool.query("INSERT INTO njs (id) VALUES (1)").catch((found) => found);
  check([error.code, error.constraint], ["23505", "njs_pkey"]);
});
tried("COPY in and out (pg-copy-streams)", async () => {
  const client = await pool.connect();
  await pipeline(Readable.from(["5000,a\n", "5001,b\n"]), client.query(from("COPY njs (n, w) FROM STDIN WITH CSV")));
  let text = "";
  for await (const piece of client.query(to("COPY (SELECT n, w FROM njs WHERE n >= 5000 ORDER BY n) TO STDOUT"))) text += piece;
  client.release();
  check(text, "5000\ta\n5001\tb\n");
});
tried("a named prepared statement, many times", async () => {
  for (let i = 0; i < 10; i++) {
    const { rows } = await pool.query({ name: "one", text: "SELECT n FROM njs WHERE id = $1", values: [1] });
    check(rows, [{ n: 7 }]);
  }
});
tried("LISTEN and NOTIFY", async () => {
  const client = new Client(WHERE);
  await client.connect();
  const heard = new Promise((resolve, reject) => {
    client.on("notification", (message) => resolve(message.payload));
    setTimeout(() => reject(new Error("nothing was heard")), 2000).unref();
  });
  await client.query("LISTEN word");
  await pool.query("NOTIFY word, 'text'");
  check(await heard, "text");
  await client.end();
});
tried("a named prepared statement, across a new column", async () => {
  const client = new Client(WHERE);
  await client.connect();
  const all = (name) => client.query({ name, text: "SELECT * FROM njs WHERE id = $1", values: [1] });
  const before = (await all("all")).fields.length;
  await pool.query("ALTER TABLE njs ADD COLUMN extra int DEFAULT 7");
  const error = await all("all").catch((found) => found);
  check(error.message, "cached plan must not change result type"); // as PostgreSQL: the driver keeps it by its name
  check((await all("again")).fields.length, before + 1);
  await client.end();
});

// Statements by name, which the driver keeps: after 0A000 an application gives it another name.
const named = (kept) => async (port) => {
  const client = new Client({ ...WHERE, port }), versions = {};
  await client.connect();
  return {
    prepareAgain: (name) => { versions[name] = (versions[name] || 0) + 1; },
    ask: async (name, text, values) => {
      const query = { text, values, rowMode: "array", ...(kept ? { name: `${name}${versions[name] || 0}` } : {}) };
      const result = await client.query(query);
      return [result.fields.map((field) => [field.name, field.dataTypeID]), result.rows, result.rowCount];
    },
  };
};
const change = async (port, sql) => {
  const client = new Client({ ...WHERE, port });
  await client.connect();
  await client.query(sql);
  await client.end();
};
tried(TITLE, () => acrossChanges("njs_prepared", named(true), change));
tried(`${TITLE}: parsed each time`, () => acrossChanges("njs_unnamed", named(false), change));

run("pg", require("pg/package.json").version);
