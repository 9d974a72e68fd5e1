/* Bottom: first, back, play, next, last; let it run; and a row per clause with a cell per position. */

import { html, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { Icon, Scroll, Severity, classes, clauseName, clauseWords, reveal, say } from "./pieces.js";
import { SPEEDS } from "./state.js";

const Key = ({ name, icon, onClick, off = false, first = false }) => html`<button class=${first ? "first" : ""} title=${say(name)} aria-disabled=${off ? "true" : null} onClick=${off ? null : onClick}><${Icon} name=${icon} /><span class="hush">${say(name)}</span></button>`;

export function Transport({ stage, elsewhere = "" }) {
  const last = stage.stops.length - 1;
  return html`<div class="transport" role="group" aria-label=${say("transport")}><div class="keys"><${Key} name="to first" icon="skip-back" off=${stage.isFirst} onClick=${() => stage.first()} />
      <${Key} name="to back" icon="step-back" off=${stage.isFirst} onClick=${() => stage.back()} />
      <${Key} name=${stage.doing === "playing" ? "stop playing" : "play"} icon=${stage.doing === "playing" ? "pause" : "play"} first=${!elsewhere} off=${last === 0} onClick=${() => stage.play()} />
      <${Key} name="to next" icon="step-forward" off=${stage.isLast} onClick=${() => { stage.pause(); stage.next(); }} />
      <${Key} name="to last" icon="skip-forward" off=${stage.isLast} onClick=${() => stage.last()} />
      <span class="position num" aria-label=${say("position", { at: stage.stop, n: last })}>${stage.stop} / ${last}</span>
      <label class="small speed"><span class="hush">${say("speed")}</span><select class="fit" value=${stage.speed} onChange=${(event) => { stage.speed = Number(event.target.value); stage.changed(); }}>${SPEEDS.map((speed) => html`<option value=${speed}>${speed} ×</option>`)}</select></label></div></div>`;
}

/* Beside it: in a page of its own the reader lets it run; elsewhere it starts over, or opens there. */
export function Beside({ stage, elsewhere = "", begins = null }) {
  return elsewhere ? html`<div class="row">${begins && html`<button class="small" onClick=${() => stage.startOver(begins)}><${Icon} name="rotate-ccw" />${say("start over")}</button>`}
      <a class="small" href=${elsewhere} target="_blank" rel="noopener">${say("on the stage")}</a></div>` : html`<div class="keys run"><button onClick=${() => stage.run()}><${Icon} name=${stage.doing === "running" ? "pause" : "dices"} />${stage.doing === "running" ? say("stop running") : say("let it run")}</button>
      <label class="small seed">${say("seed")} <input type="number" min="0" max="999999" value=${stage.seed} onChange=${(event) => { stage.seed = Math.min(999999, Math.max(0, Math.trunc(Number(event.target.value)) || 0)); stage.changed(); }} /></label>
      <label class="small check"><input type="checkbox" checked=${stage.stopsAtDanger} onChange=${(event) => { stage.stopsAtDanger = event.target.checked; stage.changed(); }} />${say("stop at danger")}</label></div>`;
}

/* Clauses that hold all along are folded into one row, so that the others stand out. */
export function Strip({ stage }) {
  const { strip } = stage.shown, here = useRef(null);
  const [isOpen, setOpen] = useState(false);
  useLayoutEffect(() => reveal(here.current), [stage.at, stage.steps]);
  const broken = strip.filter((row) => row.cells.some((cell) => cell !== "holds")), others = strip.filter((row) => !broken.includes(row));
  return html`<${Scroll} name=${say("strip")} class="invariants"><table><caption class="hush">${say("strip caption")}</caption>
    <thead><tr><th scope="col" class="clause-head">${say("checks")}</th>${stage.stops.map((_, at) => html`<th key=${at} scope="col" class=${classes({ here: at === stage.stop })} ref=${at === stage.stop ? here : null}>
      <button class="plain" aria-current=${at === stage.stop ? "step" : null} aria-label=${at === 0 ? say("the start") : say("after step", { n: at })} onClick=${() => { stage.pause(); stage.toStop(at); }}>${at}</button></th>`)}</tr></thead>
    <tbody>${broken.map((row) => html`<${Clause} key=${row.clause} stage=${stage} cells=${row.cells}><b>${clauseName(row.clause)}</b> <span class="clause-words">${clauseWords(row.clause)}</span><//>`)}
      ${others.length > 0 && html`<${Clause} key="others" stage=${stage} cells=${others[0].cells}><button class="plain fold" aria-expanded=${isOpen ? "true" : "false"} onClick=${() => setOpen(!isOpen)}><${Icon} name=${isOpen ? "chevron-down" : "chevron-right"} />${broken.length ? say("others hold", { n: others.length }) : say("all hold along", { n: others.length })}</button><//>`}
      ${isOpen && others.map((row) => html`<${Clause} key=${row.clause} stage=${stage} cells=${row.cells}><b>${clauseName(row.clause)}</b> <span class="clause-words">${clauseWords(row.clause)}</span><//>`)}</tbody></table><//>`;
}

const Clause = ({ stage, cells, children }) => html`<tr><th scope="row">${children}</th>
  ${cells.map((cell, at) => html`<td key=${at} class=${classes({ cell: true, here: at === stage.stop, ahead: at > stage.stop })} data-severity=${cell}><${Severity} value=${cell} /></td>`)}</tr>`;
