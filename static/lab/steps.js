/* Left: what each actor may do now, and what it may not do and why. */

import { html } from "../vendor/preact.js";
import { Icon, Scroll, say } from "./pieces.js";

export const KEYS_MAX = 9;

export function Steps({ stage }) {
  const { actors, offers } = stage.shown;
  const numbers = new Map(offers.filter((one) => !one.why_not && !one.changes_nothing).slice(0, KEYS_MAX).map((one, at) => [one.id, at + 1]));
  const groups = actors.map((actor) => ({ actor, offers: offers.filter((one) => one.actor === actor) })).filter((group) => group.offers.length);
  return html`<${Scroll} name=${say("steps")} class="steps">
    ${groups.map((group) => html`<${Actor} key=${group.actor} ...${group} stage=${stage} numbers=${numbers} />`)}
    ${groups.length === 0 && html`<p class="empty">${say("no steps")}</p>`}
  <//>`;
}

/* Steps that change nothing are folded where there are several: a single one may be what a text asks for. */
const IDLE_MAX = 1;
function Actor({ actor, offers, stage, numbers }) {
  const possible = offers.filter((one) => !one.why_not);
  const folds = possible.filter((one) => one.changes_nothing).length > IDLE_MAX;
  const open = possible.filter((one) => !(folds && one.changes_nothing));
  const idle = possible.filter((one) => folds && one.changes_nothing);
  const closed = offers.filter((one) => one.why_not);
  const id = `actor-${actor.replace(/\W/g, "-")}`;
  return html`<section class="actor" aria-labelledby=${id}>
    <h3 id=${id}><${Icon} name=${actorIcon(stage, actor)} />${actor}</h3>
    ${open.length > 0 && html`<ul class="plain">${open.map((offer) => html`<${Offer} key=${offer.id} offer=${offer} stage=${stage} number=${numbers.get(offer.id)} />`)}</ul>`}
    ${idle.length > 0 && html`<details><summary class="small muted">${say("idle steps", { n: idle.length })}</summary>
      <ul class="plain">${idle.map((offer) => html`<${Offer} key=${offer.id} offer=${offer} stage=${stage} />`)}</ul></details>`}
    ${closed.length > 0 && html`<${Closed} offers=${closed} />`}
  </section>`;
}

const Offer = ({ offer, stage, number }) => html`<li><button class="step" data-offer=${offer.id} onClick=${() => stage.take(offer)}>
  <span class="label">${offer.label}</span>${number && html`<kbd aria-hidden="true">${number}</kbd>`}</button></li>`;

/* Steps with one reason stand together, so that the reason is read once. */
const SHOWN_MAX = 3;
function Closed({ offers }) {
  const reasons = Map.groupBy ? [...Map.groupBy(offers, (one) => one.why_not)] : grouped(offers);
  return html`<ul class="plain closed">${reasons.map(([why, those]) => html`<li key=${why}>
    <ul class="plain">${those.slice(0, SHOWN_MAX).map((one) => html`<li key=${one.id} class="refused" data-offer=${one.id}><${Icon} name="lock" /><span>${one.label}</span></li>`)}</ul>
    ${those.length > SHOWN_MAX && html`<details><summary class="small">${say("more refused", { n: those.length - SHOWN_MAX })}</summary>
      <ul class="plain">${those.slice(SHOWN_MAX).map((one) => html`<li key=${one.id} class="refused" data-offer=${one.id}><${Icon} name="lock" /><span>${one.label}</span></li>`)}</ul></details>`}
    <p class="why small">${those[0].rule && html`<span class="rule">${those[0].rule}</span>`} ${why}</p></li>`)}</ul>`;
}

function grouped(offers) {
  const found = new Map();
  for (const one of offers) found.set(one.why_not, [...(found.get(one.why_not) ?? []), one]);
  return [...found];
}

const actorIcon = (stage, actor) => (stage.shown.cluster.nodes.some((node) => node.name === actor) ? "server" : "activity");
