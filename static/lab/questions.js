/* Is there a way to break this? The explorer answers; a way that it finds becomes a branch. The panel is in `ask.js`,
   which fetches this file when somebody asks first. */

import { html, useLayoutEffect, useRef } from "../vendor/preact.js";
import { Icon, Severity, brokenName, clauseName, say } from "./pieces.js";
import { wordsOf } from "./state.js";

const FAILED_MS = 1000;
const OPEN = ["waiting", "running"];

/* One question at a time, and the choices that would have saved what is shown. */
export class Questions {
  constructor(stage, server, url) {
    Object.assign(this, { stage, server, url, isOpen: false, fromHere: false, anyRows: false, clause: "", asked: null, found: null, savings: null, problem: "" });
  }

  set(changes) {
    Object.assign(this, changes);
    this.stage.changed();
  }

  /* The search goes on though a look fails: only a question that is not there any more is given up. */
  async ask() {
    const { stage } = this;
    const goal = { clauses: this.clause ? [this.clause] : [], versions: [] };
    this.asked = { setup: stage.setup, parameters: stage.parameters, leftOut: stage.leftOut, anyRows: this.anyRows && !this.fromHere };
    await this.attempt(async () => {
      const found = await this.server.post(this.url, { session: stage.session(), at: stage.at, goal, from_here: this.fromHere, any_rows: this.asked.anyRows });
      this.set({ found, whyNotHere: found.why_not_here, problem: "" });
      let again = found.again_s * 1000;
      while (this.found?.id === found.id && OPEN.includes(this.found.state)) {
        await new Promise((resume) => setTimeout(resume, again));
        const now = await this.server.look(`${this.url}${found.id}/`);
        again = now ? now.again_s * 1000 : FAILED_MS;
        if (now && this.found?.id === found.id) this.set({ found: now });
      }
    });
  }

  stop() {
    return this.attempt(async () => this.set({ found: await this.server.post(`${this.url}${this.found.id}/stop/`, {}) }));
  }

  /* The choices are those of the session as it stands now: elsewhere they are not shown. */
  async save() {
    const { stage } = this, session = stage.session(stage.steps.slice(0, stage.at));
    await this.attempt(async () => this.set({ savings: { of: JSON.stringify(session), session, list: (await this.server.post(`${this.url}saving/`, { session })).savings }, problem: "" }));
  }

  get savingsHere() {
    const { stage, savings } = this;
    return savings && savings.of === JSON.stringify(stage.session(stage.steps.slice(0, stage.at))) ? savings.list : null;
  }

  async attempt(work) {
    try {
      await work();
    } catch (error) {
      this.set({ found: null, problem: wordsOf(error) });
    }
  }

  /* The way that was found: a branch, or a session of its own where the search chose the first rows. */
  openWitness() {
    const { setup, parameters, leftOut, anyRows } = this.asked;
    const same = JSON.stringify([setup, parameters, leftOut]) === JSON.stringify([this.stage.setup, this.stage.parameters, this.stage.leftOut]);
    const rows = anyRows && "rows" in parameters ? { ...parameters, rows: [] } : parameters;
    if (same && rows === parameters) return this.stage.follow(this.found.steps);
    return this.stage.configure({ setup, parameters: rows, leftOut, steps: this.found.steps });
  }

  openSaving(one) {
    const { setup, parameters, left_out: leftOut } = this.savings.session;
    this.savings = null;
    if (!one.rule) return this.stage.follow(one.steps);
    return this.stage.configure({ setup, parameters, leftOut: leftOut.filter((rule) => rule !== one.rule), steps: one.steps });
  }
}

/* Below the panel's buttons: what is wanted, and what was found. */
export function Answers({ questions }) {
  const { stage, found, isOpen, savingsHere } = questions, top = useRef(null);
  useLayoutEffect(() => { if (isOpen || savingsHere) top.current.closest(".panel").scrollIntoView({ block: "nearest" }); }, [isOpen, found?.state, savingsHere]);
  return html`<div class="stack tight" ref=${top}>
    ${questions.problem && html`<p class="note danger small" role="alert">${questions.problem}</p>`}
    ${savingsHere && html`<${Savings} questions=${questions} savings=${savingsHere} />`}
    ${isOpen && html`<form onSubmit=${(event) => { event.preventDefault(); questions.ask(); }}>
      <div class="row"><label class="small goal">${say("goal")} <select value=${questions.clause} onChange=${(event) => questions.set({ clause: event.target.value })}><option value="">${say("any damage")}</option>${stage.shown.strip.map((row) => html`<option key=${row.clause} value=${row.clause}>${clauseName(row.clause)}</option>`)}</select></label><button class="first">${say("ask")}</button></div>
      <label class="check small"><input type="checkbox" checked=${questions.fromHere} onChange=${(event) => questions.set({ fromHere: event.target.checked })} />${say("from here")}</label>
      ${!questions.fromHere && html`<label class="check small"><input type="checkbox" checked=${questions.anyRows} onChange=${(event) => questions.set({ anyRows: event.target.checked })} />${say("any rows")}</label>`}</form>`}
    ${isOpen && found && html`<${Found} questions=${questions} found=${found} />`}</div>`;
}

function Found({ questions, found }) {
  const isBusy = OPEN.includes(found.state);
  return html`<div class="verdict-card" data-verdict=${found.verdict ?? found.state} role="status">
    ${questions.whyNotHere && html`<p class="small muted">${say("asked from before", { why: questions.whyNotHere })}</p>`}
    ${found.state === "waiting" && html`<p><${Icon} name="hourglass" /> ${say("asked waits", { n: found.before })}</p>`}
    ${found.state === "running" && html`<p><${Icon} name="hourglass" /> ${say("asked runs", { states: found.states ?? 0, depth: found.depth ?? 0 })}</p>`}
    ${found.state === "stopped" && html`<p>${say("asked stopped")}</p>`}
    ${isBusy && html`<div><button onClick=${() => questions.stop()}><${Icon} name="x" />${say("stop running")}</button></div>`}
    ${found.verdict === "proved" && html`<p class="ok-text"><b><${Icon} name="check" /> ${say("proved")}</b></p><p class="small">${say("proved bounds", { bounds: found.bounds, states: found.states, s: found.seconds })}</p>`}
    ${found.verdict === "violated" && html`<p><${Severity} value="damage" /><b class="danger-text">${say("violated", { n: found.steps.length })}</b></p>
      <ul class="plain small">${found.broken.map((one, at) => html`<li key=${at}><b>${brokenName(one)}${say("stop")}</b>${one.why}</li>`)}</ul>
      <div><button class="first" onClick=${() => questions.openWitness()}><${Icon} name="git-fork" />${say("open branch")}</button></div>`}
    ${found.verdict === "unknown" && html`<p class="warn-text"><b><${Icon} name="circle-help" /> ${say("unknown")}</b></p><p class="small">${found.why}</p>`}</div>`;
}

const Savings = ({ questions, savings }) => html`<div class="verdict-card" role="status">${savings.length === 0 ? html`<p>${say("nothing saves")}</p>` : html`<ul class="plain stack tight">${savings.map((one, at) => html`<li key=${at} class="stack tight">
  <p>${one.rule ? say("rule saves", { rule: one.rule }) : say("step saves", { at: questions.stage.shown.trace.findIndex((line) => line.until > one.at) + 1, step: one.label })} ${one.refused && html`<span class="muted">${say("then refused", { step: one.refused.label, why: one.refused.why })}</span>`}</p>
  <div><button onClick=${() => questions.openSaving(one)}><${Icon} name="git-fork" />${say("open branch")}</button></div></li>`)}</ul>`}</div>`;
