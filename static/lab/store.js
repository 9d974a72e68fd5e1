/* Centre, below: rows with their entries beside them, the difference to the step before, and what readers find.
   `of` tells two branches side by side apart. */

import { html } from "../vendor/preact.js";
import { Icon, Scroll, Severity, brokenName, classes, clauseName, grouped, say, version } from "./pieces.js";

const GLYPHS = { "+": "+", "-": "−", "~": "~" };

export function Store({ cluster, of = "" }) {
  const places = [...new Set(cluster.pairs.map((pair) => JSON.stringify([pair.table, pair.storage])))].map((place) => JSON.parse(place));
  const areMany = new Set(places.map(([, storage]) => storage)).size > 1;
  return html`<section class="panel store" aria-labelledby=${`store-head${of}`}><header><h2 id=${`store-head${of}`}>${say("store")}<span class="hush"> ${of}</span></h2><${Legend} pairs=${cluster.pairs} /></header>
    ${cluster.pairs.length === 0 && html`<p class="empty">${say("store empty")}</p>`}
    ${places.map(([table, storage]) => html`<${Place} key=${`${table}/${storage}`} name=${places.length > 1 ? [table, areMany ? say("store n", { n: storage }) : ""].filter(Boolean).join(" · ") : ""} of=${of}
      pairs=${cluster.pairs.filter((pair) => pair.table === table && pair.storage === storage)} />`)}</section>`;
}

function Place({ name, pairs, of }) {
  const rows = [...new Set(pairs.map((pair) => pair.row))].sort((one, other) => (one === "") - (other === "") || one.localeCompare(other, undefined, { numeric: true }));
  return html`<div class="place">${name && html`<h3>${name}</h3>`}<${Scroll} name=${[name || say("store"), of].filter(Boolean).join(" ")}><table class="pairs"><caption class="hush">${say("pairs caption")}</caption>
    <thead><tr><th scope="col">${say("row")}</th><th scope="col">${say("its pairs")}</th><th scope="col" class="link-col"><span class="hush">${say("leads to")}</span></th><th scope="col">${say("entries")}</th></tr></thead>
    <tbody>${rows.map((row) => html`<${Row} key=${row} row=${row} pairs=${pairs.filter((pair) => pair.row === row)} />`)}</tbody></table><//></div>`;
}

function Row({ row, pairs }) {
  const own = pairs.filter((pair) => pair.sort !== "entry"), entries = pairs.filter((pair) => pair.sort === "entry");
  const isThere = own.some((pair) => pair.difference !== "-" && !pair.is_tombstone);
  return html`<tr class=${classes({ absent: !isThere })}><th scope="row">${row || say("no row")}</th>
    <td>${!isThere && html`<span class="hole"><${Icon} name="circle-dashed" />${say("row is not there")}</span>`}<div class="chips">${own.map((pair) => html`<${Pair} key=${pair.id} pair=${pair} />`)}</div></td>
    <td class="link-col">${entries.some((pair) => pair.difference !== "-" && !pair.is_tombstone) && html`<${Arrow} broken=${!isThere || entries.every((pair) => pair.dangles || pair.difference === "-" || pair.is_tombstone)} />`}</td>
    <td><div class="chips">${entries.length ? entries.map((pair) => html`<${Pair} key=${pair.id} pair=${pair} />`) : html`<span class="muted small">–</span>`}</div></td></tr>`;
}

/* An entry leads to its row, or into a hole. */
const Arrow = ({ broken }) => html`<svg class=${classes({ arrow: true, broken })} viewBox="0 0 48 16" aria-hidden="true">
  <path d="M47 8H8" stroke-dasharray=${broken ? "4 4" : null} />${broken ? html`<path d="M2 3l8 10M10 3L2 13" />` : html`<path d="M9 3L2 8l7 5" />`}</svg>`;

function Pair({ pair }) {
  const removed = pair.difference === "-";
  return html`<span class=${classes({ pair: true, removed, tombstone: pair.is_tombstone, dangles: pair.dangles && !removed, unseen: pair.unseen_by.length > 0 })} data-difference=${pair.difference || null} data-pair=${pair.id}>
    ${pair.difference && html`<span class="glyph"><span aria-hidden="true">${GLYPHS[pair.difference]}</span><span class="hush">${say(`difference ${pair.difference}`)} </span></span>`}
    <span class="what"><code>${pair.sort === "row" ? say("pair row") : pair.key}</code>${pair.value && html`<span class="becomes" aria-hidden="true">→</span><code>${pair.value}</code>`}</span>
    ${pair.is_new && html`<span class="tag">${say("new placement")}</span>`}
    ${pair.is_tombstone && html`<span class="tag"><${Icon} name="x" />${say("tombstone")}</span>`}
    ${pair.dangles && !removed && html`<span class="tag danger-text"><${Icon} name="unlink" />${clauseName(pair.sort === "entry" ? "C5" : "C6")}</span>`}
    ${pair.unseen_by.length > 0 && html`<span class="tag"><${Icon} name="eye-off" />${say("unseen by", { versions: pair.unseen_by.map(version).join(say("between names")) })}</span>`}</span>`;
}

function Legend({ pairs }) {
  const seen = new Set(pairs.map((pair) => pair.difference));
  return html`<p class="key small">${["+", "-", "~"].filter((one) => seen.has(one)).map((one) => html`<span key=${one} class="legend" data-difference=${one}><span class="glyph" aria-hidden="true">${GLYPHS[one]}</span>${say(`difference ${one}`)}</span>`)}
    ${pairs.some((pair) => pair.unseen_by.length) && html`<span class="legend"><i class="hatch" aria-hidden="true"></i>${say("hatched")}</span>`}</p>`;
}

export function Probe({ probe, of = "" }) {
  if (probe.length === 0) return null;
  const queries = [...new Set(probe.map((one) => one.query))], versions = [...new Set(probe.map((one) => one.version))], isIndexed = probe.some((one) => one.by_index !== null);
  return html`<section class="panel probe" aria-labelledby=${`probe-head${of}`}><header><h2 id=${`probe-head${of}`}>${say("probe")}<span class="hush"> ${of}</span></h2></header>
    <${Scroll} name=${[say("probe"), of].filter(Boolean).join(" ")}><table><thead><tr><th scope="col">${say("query")}</th>${versions.map((one) => html`<th key=${one} scope="col">${say("under", { version: version(one) })}</th>`)}</tr></thead>
    <tbody>${queries.map((query) => html`<tr key=${query}><th scope="row"><code>${query}</code></th>${versions.map((number) => html`<td key=${number}>${probe.filter((one) => one.query === query && one.version === number).map((one, at) => html`<${Found} key=${at} one=${one} isIndexed=${isIndexed} />`)}</td>`)}</tr>`)}</tbody></table><//></section>`;
}

const Found = ({ one, isIndexed }) => html`<div class=${classes({ found: true, differs: one.differs })}><span>${say("by table")} <b>${rows(one.by_table)}</b></span>
  ${one.by_index === null ? isIndexed && html`<span class="muted">${say("no index")}</span>` : html`<span class="sign" aria-hidden="true">${one.differs ? "≠" : "="}</span><span>${say("by index")} <b>${rows(one.by_index)}</b></span><span class=${one.differs ? "differ" : "hush"}>${one.differs ? say("they differ") : say("they agree")}</span>`}</div>`;

const rows = (found) => found.join(say("between names")) || say("nothing");

/* What does not hold now, in words: damage before danger. */
export function Verdicts({ verdicts, people = false }) {
  if (verdicts.length === 0) return html`<p class="verdict holds"><${Severity} value="holds" /> ${say(people ? "no message lost" : "all hold")}</p>`;
  return html`<ul class="plain verdicts">${grouped(verdicts).map((one) => html`<li key=${`${one.clause}/${one.versions}`} class="verdict" data-severity=${one.severity}>
    <${Severity} value=${one.severity} word /><b>${say("colon")}${brokenName(one, people)}${say("stop")}</b>${one.why}</li>`)}</ul>`;
}
