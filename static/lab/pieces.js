/* The pieces that look the same all over the stage: words, icons, states, how bad something is.

   A state and a severity are glyph and word first, then pattern, then colour; nobody needs the colour. */

import { html } from "../vendor/preact.js";

const words = JSON.parse(document.getElementById("stage-words").textContent);
const ICONS = new URL("../icons.svg", import.meta.url).pathname;

/* The words of the page, in the reader's language; `{names}` are filled in. Of one thing they may be others. */
export function say(name, values = {}) {
  const key = values.n === 1 && `${name} (one)` in words ? `${name} (one)` : name;
  if (!(key in words)) throw new Error(`the page has no words for ${name}`);
  return words[key].replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

export const clauseName = (clause) => words[`name ${clause}`] ?? clause;
/* What is broken, by name; too many versions are under none of them. */
const TOO_MANY = ["two versions", "two editions"];
export const isTooMany = (clause) => TOO_MANY.includes(clause);
export const brokenName = ({ clause, versions, version: number }, people = false) => (people || isTooMany(clause) ? clauseName(clause) : say("broken", { clause: clauseName(clause), version: (versions ?? [number]).map(version).join(say("between names")) }));
/* Damage before danger; what is broken alike under several versions is one. */
export function grouped(verdicts) {
  const found = new Map();
  for (const one of verdicts) {
    const key = [one.severity, one.clause, one.why].join();
    found.set(key, { ...one, versions: [...(found.get(key)?.versions ?? []), one.version] });
  }
  return [...found.values()].sort((one, other) => (one.severity === "danger") - (other.severity === "danger"));
}
export const ruleName = (rule) => words[`rule ${rule}`] ?? rule;
export const clauseWords = (clause) => words[`clause ${clause}`] ?? "";

export const actorName = (actor) => words[`actor ${actor}`] ?? actor;

export const Icon = ({ name }) => html`<svg class="icon" aria-hidden="true"><use href=${`${ICONS}#${name}`} /></svg>`;

/* As on the tiles of a ladder: a fill is work, and has a colour of its own. */
const STATES = { absent: "circle-dashed", "delete-only": "minus", "write-only": "arrow-up", public: "check" };
export const Swatch = ({ state }) => html`<span class="swatch pattern" data-state=${state}><${Icon} name=${STATES[state]} /></span>`;
export const State = ({ element }) => html`<span class="state" data-state=${element.state}>
  <${Swatch} state=${element.state} /><span class="word">${say(element.is_filling ? "state filling" : `state ${element.state}`)}</span></span>`;

const SEVERITIES = { holds: "check", danger: "triangle-alert", damage: "octagon-alert" };
export const worst = (severities) => ["damage", "danger"].find((one) => severities.includes(one)) ?? "holds";
export const Severity = ({ value, word = false }) => html`<span class="severity" data-severity=${value}>
  <${Icon} name=${SEVERITIES[value]} /><span class=${word ? "" : "hush"}>${say(value)}</span></span>`;

export const version = (number) => `v${number}`;
export const edition = (number, people) => (people ? say("edition", { number }) : version(number));
export const classes = (names) => Object.entries(names).filter(([, is]) => is).map(([name]) => name).join(" ");

/* A region that scrolls can be reached by Tab, and has a name. */
export const Scroll = ({ name, class: extra = "", children, ...rest }) => html`<div class=${`scroller ${extra}`} tabindex="0" role="group" aria-label=${name} ...${rest}>${children}</div>`;

/* Scrolls the region around an element, and not the page, until it is in sight. */
export function reveal(element) {
  const region = element?.closest(".scroller");
  if (!region) return;
  const inner = element.getBoundingClientRect(), outer = region.getBoundingClientRect();
  const by = (low, high, least, most) => (low < least ? low - least : high > most ? high - most : 0);
  region.scrollBy(by(inner.left, inner.right, outer.left + STICKY_PX, outer.right), by(inner.top, inner.bottom, outer.top, outer.bottom));
}
const STICKY_PX = 220; // names of clauses, which stay at the left
