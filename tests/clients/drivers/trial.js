// A step that is tried with a client of Node.js, and its outcome: as trial.py.

const STEPS = [];
const { PGHOST, PGPORT, PGUSER, PGDATABASE } = process.env;
const WHERE = { host: PGHOST, port: Number(PGPORT), user: PGUSER, database: PGDATABASE };
const emit = (fields) => console.log(JSON.stringify(fields));
const tried = (what, step) => STEPS.push([what, step]);

function check(found, expected) {
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    throw new Error(`${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
  }
}

async function run(client, version) {
  emit({ client, version });
  for (const [what, step] of STEPS.filter(([what]) => what.includes(process.env.STEP || ""))) {
    try {
      await step();
      emit({ tried: what, outcome: "works" });
    } catch (error) {
      const message = String(error.message || error).slice(0, 300);
      emit({ tried: what, outcome: "fails", sqlstate: error.code || "", message, hint: error.hint || "" });
    }
  }
  process.exit(0);
}

module.exports = { WHERE, check, run, tried };
