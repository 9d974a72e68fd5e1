/* Centre, above: versions and who uses which; messages, plan, clock. As on the page of the real cluster. */

import { html } from "../vendor/preact.js";
import { Icon, Scroll, State, actorName, classes, edition, isTooMany, say, version } from "./pieces.js";

const ALLOWED = 2, LONG_S = 600;
const NOON_MS = 12 * 3600_000;
const CONDITIONS = { frozen: "snowflake", down: "skull", "cut off": "unlink" };

/* `people`: the nodes are people with handbooks, who use editions. */
export function Versions({ cluster, verdicts = [], people = false }) {
  const tables = [...new Set(cluster.versions.map((one) => one.table))], isApart = verdicts.some((one) => isTooMany(one.clause)) && used(cluster, tables[0]).length === ALLOWED;
  return html`<section class="panel versions" aria-labelledby="versions-head">
    <header><h2 id="versions-head">${say(people ? "editions" : "versions")}</h2>
      ${tables.length === 1 && html`<${Pips} used=${used(cluster, tables[0])} people=${people} isApart=${isApart} />`}
      ${cluster.clock_s !== null && html`<p class="small clock"><${Icon} name="clock" />${people ? new Date(cluster.clock_s * 1000 + NOON_MS).toISOString().slice(11, 16) : cluster.clock_s < LONG_S ? say("clock", { s: seconds(cluster.clock_s) }) : say("long clock", { m: seconds(cluster.clock_s / 60) })}</p>`}</header>
    ${tables.map((table) => html`<${Lanes} key=${table} table=${table} cluster=${cluster} people=${people} many=${tables.length > 1} />`)}
    ${cluster.plan.length > 0 && html`<${Plan} plan=${cluster.plan} />`}
    ${[false, true].map((isLost) => html`<${Messages} key=${isLost} isLost=${isLost} messages=${cluster.messages.filter((one) => one.is_lost === isLost)} />`)}
  </section>`;
}

function Lanes({ table, cluster, people, many }) {
  const versions = cluster.versions.filter((one) => one.table === table);
  const unused = versions.filter((one) => !one.is_in_force && !isUsed(cluster, one, () => true));
  const look = (one) => classes({ past: !one.is_in_force, unused: unused.includes(one) });
  return html`<div class="lanes-of">
    ${many && html`<div class="row between"><h3>${table}</h3><${Pips} used=${used(cluster, table)} /></div>`}
    <${Scroll} name=${say("lanes of", { table })}><table class="lane-grid" data-columns=${Math.min(versions.length, 8)} data-used=${versions.length - unused.length}><caption class="hush">${say("lanes of", { table })}</caption>
      <thead><tr><th class="node-col" scope="col"><span class="hush">${say("node")}</span></th>
        ${versions.map((one) => html`<th key=${one.number} scope="col" class=${look(one)}><${Head} one=${one} isUsed=${isUsed(cluster, one)} people=${people} /></th>`)}</tr></thead>
      <tbody>${cluster.nodes.map((node) => html`<tr key=${node.name}><th scope="row">${node.name}<${Condition} of=${node.condition} /></th>
        ${versions.map((one) => html`<td key=${one.number} class=${look(one)}><${Lane} node=${node} one=${one} people=${people} /></td>`)}</tr>`)}</tbody></table><//>
  </div>`;
}

/* A version is used by a node that leases it, or has a transaction of it open. */
const isUsed = (cluster, one, counts = (lease) => lease.is_live) => cluster.nodes.some((node) => node.leases.some((lease) => isOf(lease, one) && counts(lease)) || node.transactions.some((open) => open.versions[one.table] === one.number));
const used = (cluster, table) => cluster.versions.filter((one) => one.table === table && isUsed(cluster, one)).map((one) => one.number);

const Pips = ({ used, people = false, isApart = false }) => html`<p class=${classes({ strip: true, small: true, alarm: isApart || used.length > ALLOWED })}>
  ${(isApart || used.length > ALLOWED) && html`<${Icon} name="octagon-alert" />`}
  <span class="pips" aria-hidden="true">${Array.from({ length: Math.max(ALLOWED, used.length) }, (_, at) => html`<i class=${at < used.length ? "on" : ""}></i>`)}</span>
  ${isApart ? say("too far apart", { which: used.map((one) => edition(one, people)).join(say("between names")) }) : say(people ? "editions used" : "versions used", { n: used.length, most: ALLOWED })}</p>`;

const Head = ({ one, isUsed, people }) => html`<span class="version-name">${edition(one.number, people)}
    <span class="node-state">${one.is_newest ? say("newest") : isUsed ? say("in use") : say("not in use")}</span></span>
  ${one.elements.map((element) => html`<span key=${element.name} class="element"><span class="element-name">${element.name}</span><${State} element=${element} /></span>`)}`;

const Condition = ({ of }) => of in CONDITIONS && html`<span class="node-state danger-text"><${Icon} name=${CONDITIONS[of]} />${say(`condition ${of}`)}</span>`;

const isOf = (lease, one) => lease.table === one.table && lease.version === one.number;

function Lane({ node, one, people }) {
  const lease = node.leases.find((held) => isOf(held, one));
  const open = node.transactions.filter((transaction) => transaction.versions[one.table] === one.number);
  const moving = one.elements.find((element) => element.state !== "public") ?? one.elements[0];
  return html`${lease?.is_live && html`<div class=${classes({ lane: true, pattern: true, dead: node.condition in CONDITIONS })} data-state=${moving ? moving.state : "public"}><span class="plate"><span>${people ? say("goes by", { n: one.number }) : say("leases", { version: version(one.number) })}</span><${Left} lease=${lease} /></span></div>`}
    ${lease && !lease.is_live && html`<div class="lane gap"><span class="plate">${say("lease over")}</span></div>`}
    ${!lease && open.length === 0 && html`<div class="lane none">${say("not used")}</div>`}
    ${open.map((transaction, at) => html`<p key=${at} class="open small"><${Icon} name="file-text" /><span><b>${say("open transaction")}</b> ${transaction.did}
      ${transaction.why_not_commit && html`<span class="danger-text"> ${transaction.why_not_commit}</span>`}</span></p>`)}`;
}

/* A lease as an arc that shrinks, and in words. */
const Left = ({ lease }) => lease.left_s !== null && html`<span class="until"><svg class="ring" viewBox="0 0 36 36" aria-hidden="true"><circle class="track" cx="18" cy="18" r="15" />
  <circle class="left" cx="18" cy="18" r="15" pathLength="100" stroke-dasharray=${`${(100 * lease.left_s) / (lease.length_s || lease.left_s || 1)} 100`} /></svg><span>${say("seconds", { s: seconds(lease.left_s) })}</span></span>`;

const seconds = (number) => (Number.isInteger(number) ? number : number.toFixed(1));

const SHORT_PLAN = 3;
const GLYPHS = { done: "check", now: "play", ahead: "circle" };
function Plan({ plan }) {
  const now = plan.findIndex((step) => step.status !== "done"), done = now < 0 ? plan.length : now;
  if (plan.length <= SHORT_PLAN) return html`<div class="plan-steps"><h3>${say("plan")}</h3><${PlanSteps} steps=${plan} /></div>`;
  return html`<div class="plan-steps"><h3>${say("plan")}</h3><ol class="plain plan-line">${done > 0 && html`<li data-when="done"><${Icon} name="check" />${say("plan so far", { n: done, of: plan.length })}</li>`}
      ${plan.slice(done, done + 2).map((step, at) => html`<${PlanStep} key=${at} step=${step} />`)}</ol>
    <details><summary class="small muted">${say("all plan", { n: plan.length })}</summary><${PlanSteps} steps=${plan} /></details></div>`;
}

const PlanSteps = ({ steps }) => html`<ol class="plain plan-line">${steps.map((step, at) => html`<${PlanStep} key=${at} step=${step} />`)}</ol>`;

const PlanStep = ({ step }) => html`<li data-when=${step.status} aria-current=${step.status === "now" ? "step" : null}><${Icon} name=${GLYPHS[step.status]} /><span>${step.text}</span><span class="hush">${say(`plan ${step.status}`)}</span></li>`;

/* What is under way, as a parcel on the wire between the two. */
const Messages = ({ messages, isLost }) => messages.length > 0 && html`<div><h3>${isLost ? say("name lost message").replace(/^./, (one) => one.toUpperCase()) : say("messages")}</h3><ul class="plain messages">${messages.map((one) => html`<li key=${one.id} class=${classes({ flight: true, lost: isLost })}><b class="end">${actorName(one.sender)}</b>
  <span class="wire"><span class="parcel"><${Icon} name=${isLost ? "x" : "radio"} />${one.text}</span></span><span class="hush">${say("to")}</span><b class="end">${actorName(one.receiver)}</b></li>`)}</ul></div>`;
