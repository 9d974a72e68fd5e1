// knex: its schema builder, its migrations, its queries.

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const makeKnex = require("knex");
const { WHERE, check, run, tried } = require("./trial.js");

const knex = makeKnex({ client: "pg", connection: { ...WHERE, options: "-c schemalab.autocommit_before_ddl=on" } });

tried("schema builder: tables, keys, indexes, hasTable, hasColumn", async () => {
  await knex.schema.dropTableIfExists("knex_child");
  await knex.schema.dropTableIfExists("knex_parent");
  await knex.schema.createTable("knex_parent", (t) => { t.increments("id"); t.string("name", 50).unique(); });
  await knex.schema.createTable("knex_child", (t) => {
    t.increments("id");
    t.integer("parent_id").references("id").inTable("knex_parent");
    t.boolean("done").defaultTo(false);
    t.timestamp("at", { precision: 3 }).defaultTo(knex.fn.now(3));
    t.index(["done"], "knex_child_done");
  });
  check([await knex.schema.hasTable("knex_child"), await knex.schema.hasColumn("knex_child", "done")], [true, true]);
});
tried("insert, returning, join, update, upsert", async () => {
  const [{ id }] = await knex("knex_parent").insert({ name: "one" }).returning("id");
  await knex("knex_child").insert([{ parent_id: id }, { parent_id: id, done: true }]);
  await knex("knex_parent").insert({ name: "one" }).onConflict("name").ignore();
  check((await knex("knex_child").join("knex_parent", "knex_parent.id", "parent_id").where("done", true)).length, 1);
});
tried("transactions", async () => {
  await knex.transaction(async (trx) => { await trx("knex_parent").insert({ name: "two" }); throw new Error("no"); }).catch(() => {});
  check((await knex("knex_parent").where("name", "two")).length, 0);
});
tried("alter a table: add, rename and drop a column", async () => {
  await knex.schema.alterTable("knex_child", (t) => t.integer("more").defaultTo(5));
  await knex.schema.alterTable("knex_child", (t) => t.renameColumn("more", "less"));
  await knex.schema.alterTable("knex_child", (t) => t.dropColumn("less"));
});
tried("migrate:latest and migrate:rollback", async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "knex-"));
  fs.writeFileSync(path.join(directory, "1_first.js"),
    "exports.up = (k) => k.schema.createTable('knex_moved', (t) => t.increments());\nexports.down = (k) => k.schema.dropTable('knex_moved');\n");
  for (const table of ["knex_moved", "knex_migrations", "knex_migrations_lock"]) await knex.schema.dropTableIfExists(table);
  await knex.migrate.latest({ directory });
  check(await knex.schema.hasTable("knex_moved"), true);
  await knex.migrate.rollback({ directory });
  check(await knex.schema.hasTable("knex_moved"), false);
});

run("knex", require("knex/package.json").version);
