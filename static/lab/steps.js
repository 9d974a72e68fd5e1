/* Left: what each actor may do now, and what it may not do and why.

   Every step keeps its place in its group, whether it may be taken or not; the reasons stand below the group, each
   once, with a sign. So a list does not move under the pointer that takes one step after another. Where the page says
   which steps it needs (`stage.needs`), only those of them stand here that may be taken, or that a rule forbids
   now. The others are folded. */

import { html, useState } from "../vendor/preact.js";
import { Icon, Scroll, actorName, classes, ruleName, say } from "./pieces.js";

export const KEYS_MAX = 9;
const SIGNS = "*\u2020\u2021\u00a7\u00b6";

/* The change first, then the fill, the nodes, and last what happens to all of them. */
const FIRST = ["executor", "fill"];
const rank = (actor, nodes) => (FIRST.includes(actor) ? FIRST.indexOf(actor) : nodes.has(actor) ? 2 : 3);

export function Steps({ stage }) {
  const { actors, offers, cluster } = stage.shown;
  const nodes = new Set(cluster.nodes.map((node) => node.name));
  const [isOpen, setOpen] = useState(false);
  const isNeeded = (one) => !stage.needs || (stage.needs.has(one.id) && (!one.why_not || Boolean(one.rule)));
  const by = (some) => actors.map((actor) => ({ actor, offers: some.filter((one) => one.actor === actor) })).filter((group) => group.offers.length).sort((one, other) => rank(one.actor, nodes) - rank(other.actor, nodes));
  const groups = by(offers.filter(isNeeded)), others = offers.filter((one) => !isNeeded(one));
  const folded = isOpen || groups.length === 0 ? by(others) : [];
  const possible = [...groups, ...folded].flatMap((group) => group.offers).filter((one) => !one.why_not);
  const numbers = new Map(possible.slice(0, KEYS_MAX).map((one, at) => [one.id, at + 1]));
  const actor = (part) => (group) => html`<${Actor} key=${`${part}${group.actor}`} part=${part} ...${group} stage=${stage} numbers=${numbers} icon=${nodes.has(group.actor) ? "server" : "activity"} />`;
  return html`<${Scroll} name=${say("steps")} class="steps">
    ${groups.map(actor(""))}
    ${others.length > 0 && groups.length > 0 && html`<button class="plain fold small" aria-expanded=${isOpen ? "true" : "false"} onClick=${() => setOpen(!isOpen)}><${Icon} name=${isOpen ? "chevron-down" : "chevron-right"} />${say("other steps", { n: others.length })}</button>`}
    ${folded.map(actor("other-"))}
    ${offers.length === 0 && html`<p class="empty">${say("no steps")}</p>`}
  <//>`;
}

function Actor({ actor, part, offers, stage, numbers, icon }) {
  const reasons = new Map(offers.filter((one) => one.why_not).map((one) => [one.why_not, one.rule]));
  const signs = new Map([...reasons.keys()].map((why, at) => [why, SIGNS[at % SIGNS.length].repeat(1 + at / SIGNS.length)]));
  const id = `actor-${part}${actor.replace(/\W/g, "-")}`;
  return html`<section class="actor" aria-labelledby=${id}>
    <h3 id=${id}><${Icon} name=${icon} />${actorName(actor)}</h3>
    <ul class="plain">${offers.map((offer) => html`<li key=${offer.id}>${offer.why_not
      ? html`<${Refused} offer=${offer} mark=${signs.get(offer.why_not)} />`
      : html`<${Offer} offer=${offer} stage=${stage} number=${numbers.get(offer.id)} />`}</li>`)}</ul>
    ${reasons.size > 0 && html`<ol class="plain reasons small">${[...reasons].map(([why, rule]) => html`<li key=${why}><b class="letter">${signs.get(why)}</b><span>${why}${rule && html` <span class="rule">${ruleName(rule)}</span>`}</span></li>`)}</ol>`}
  </section>`;
}

const Offer = ({ offer, stage, number }) => html`<button class=${classes({ step: true, idle: offer.changes_nothing })} data-offer=${offer.id} title=${offer.changes_nothing ? say("changes nothing") : null} onClick=${() => stage.take(offer)}>
  <span class="label">${offer.label}</span>${number && html`<kbd aria-hidden="true">${number}</kbd>`}</button>`;

const Refused = ({ offer, mark }) => html`<div class="refused" data-offer=${offer.id} title=${offer.why_not}><${Icon} name="lock" /><span class="label">${offer.label}</span><b class="letter">${mark}</b></div>`;
