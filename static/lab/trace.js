/* Right: the trace as a sequence diagram, or as a table; and the tree of branches. */

import { html, useState, useLayoutEffect, useRef } from "../vendor/preact.js";
import { letter, origins } from "./branches.js";
import { Icon, Scroll, Severity, actorName, classes, reveal, say } from "./pieces.js";

const HEIGHT = 24;
const LIFE = 400; // upwards, to the top of the step, which cuts it off

export function Trace({ stage }) {
  const [asTable, setAsTable] = useState(false);
  const { trace } = stage.shown;
  const here = useRef(null);
  useLayoutEffect(() => reveal(here.current), [stage.at, stage.steps]);
  return html`<section class="panel trace" aria-labelledby="trace-head"><header><h2 id="trace-head">${say("trace")}</h2>
      <button class="plain small" aria-pressed=${asTable ? "true" : "false"} onClick=${() => setAsTable(!asTable)}><${Icon} name="table-2" />${say("as table")}</button></header>
    ${trace.length === 0 ? html`<p class="empty">${say("trace empty")}</p>` : asTable ? html`<${Table} stage=${stage} />` : html`<${Diagram} shown=${stage.shown} stage=${stage} here=${here} />`}</section>`;
}

/* Each step is a line: its sentence, and under it the arrow from lane to lane. */
export function Diagram({ shown, stage = null, here = null, mark = -1, of = "" }) {
  const { trace, actors } = shown;
  const used = new Set(trace.flatMap((line) => [line.actor, line.to]));
  const lanes = [...actors.filter((one) => used.has(one)), ...[...used].filter((one) => one && !actors.includes(one))];
  const stop = stage ? stage.stop : -1;
  return html`<div class="sequence" data-lanes=${lanes.length}><div class="lane-heads" aria-hidden="true">${lanes.map((lane) => html`<span key=${lane}>${actorName(lane)}</span>`)}</div>
    <${Scroll} name=${[say("trace"), of].filter(Boolean).join(" ")} class="events"><ol class="plain">${trace.map((line, at) => html`<li key=${at} ref=${at + 1 === stop ? here : null}
        class=${classes({ event: true, ahead: stage && at + 1 > stop, differs: at === mark })} data-severity=${line.severity} aria-current=${at + 1 === stop ? "step" : null}>
      <${Sentence} stage=${stage} line=${line} at=${at} />
      ${at === mark && html`<span class="mark small"><${Icon} name="git-fork" />${say("first difference")}</span>`}
      <${Arrow} line=${line} lanes=${lanes} /></li>`)}</ol><//></div>`;
}

const Sentence = ({ stage, line, at }) => {
  const words = html`<span class="count">${at + 1}</span><span class="said"><span>${line.text}</span></span>${line.severity !== "holds" && html`<${Severity} value=${line.severity} />`}`;
  return stage ? html`<button class="sentence" onClick=${() => { stage.pause(); stage.toStop(at + 1); }}>${words}</button>` : html`<span class="sentence">${words}</span>`;
};

/* In units of lanes; `preserveAspectRatio` none would bend the heads, so positions are percents. */
function Arrow({ line, lanes }) {
  const x = (lane) => `${(100 * (lanes.indexOf(lane) + 0.5)) / lanes.length}%`;
  const from = x(line.actor), to = line.to && x(line.to);
  const forward = lanes.indexOf(line.to) > lanes.indexOf(line.actor);
  const y = HEIGHT / 2;
  return html`<svg class="arrows" width="100%" height=${HEIGHT} aria-hidden="true">
    ${lanes.map((lane) => html`<line key=${lane} class="life" x1=${x(lane)} x2=${x(lane)} y1=${-LIFE} y2=${HEIGHT} />`)}
    <circle cx=${from} cy=${y} r="4" />
    ${to && html`<line class="reach" x1=${from} x2=${to} y1=${y} y2=${y} /><svg x=${to} y=${y} overflow="visible"><path d=${forward ? "M-9-5L0 0l-9 5z" : "M9-5L0 0l9 5z"} /></svg>`}</svg>`;
}

function Table({ stage }) {
  return html`<${Scroll} name=${say("trace")} class="events"><table class="wraps"><thead><tr><th scope="col">${say("number")}</th><th scope="col">${say("who")}</th><th scope="col">${say("to whom")}</th><th scope="col">${say("what happens")}</th><th scope="col">${say("verdict")}</th></tr></thead>
    <tbody>${stage.shown.trace.map((line, at) => html`<tr key=${at} class=${classes({ ahead: at + 1 > stage.stop })} aria-current=${at + 1 === stage.stop ? "step" : null}><td class="num">${at + 1}</td><td>${actorName(line.actor)}</td><td>${actorName(line.to) || "–"}</td><td>${line.text}</td><td><${Severity} value=${line.severity} word /></td></tr>`)}</tbody></table><//>`;
}

const DX = 10, ROW = 34;

export function Branches({ stage }) {
  const { branches, current } = stage;
  const stops = branches.map((steps) => stage.outcomes.get(steps.join(" "))?.stops);
  const from = origins(branches).map((one, at) => ({ ...one, at: (stops[at] ?? []).findLast((stop) => stop <= one.at) ?? 0 }));
  const width = DX * (Math.max(...branches.map((steps) => steps.length), 1) + 1);
  return html`<section class="panel tree" aria-labelledby="tree-head"><header><h2 id="tree-head">${say("branches")}</h2><span class="small muted">${branches.length === 1 ? say("one branch") : ""}</span></header>
    <${Scroll} name=${say("branches")}><ul class="plain">${branches.map((steps, at) => html`<li key=${at} class="branch">
      <button class="plain name" aria-current=${at === current ? "true" : null} onClick=${() => stage.toBranch(at)}>${letter(at)}<span class="hush"> ${say("branch of", { n: stops[at]?.length ?? steps.length })}</span></button>
      <svg class="graph" width=${width} height=${ROW} aria-hidden="true">${from.map((origin, child) => between(at, origin.from, child) && html`<path class="limb" d=${limb(at, origin, child)} />`)}
        <path class=${classes({ limb: true, now: at === current })} d=${`M${DX * (at === 0 ? 0.5 : from[at].at + 1)} ${ROW / 2}H${DX * (steps.length + 0.5)}`} />
        ${(stops[at] ?? []).map((stop) => stop > (at === 0 ? 0 : from[at].at) && html`<circle cx=${DX * (stop + 0.5)} cy=${ROW / 2} r="3" />`)}${at === 0 && html`<circle cx=${DX / 2} cy=${ROW / 2} r="3" />`}
        ${at === current && html`<circle class="here" cx=${DX * (stage.at + 0.5)} cy=${ROW / 2} r="6" />`}</svg>
      <${Outcome} worst=${stage.outcomes.get(steps.join(" "))?.worst} n=${stops[at]?.length ?? steps.length} />
      ${at !== current && html`<button class="plain" title=${say("compare with", { branch: letter(at) })} onClick=${() => stage.compare(at)}><${Icon} name="columns-2" /><span class="hush">${say("compare with", { branch: letter(at) })}</span></button>`}
      ${branches.length > 1 && html`<button class="plain" title=${say("drop branch", { branch: letter(at) })} onClick=${() => stage.dropBranch(at)}><${Icon} name="x" /><span class="hush">${say("drop branch", { branch: letter(at) })}</span></button>`}</li>`)}</ul><//></section>`;
}

/* Row `at` lies on the way from a branch down to the one that leaves it. */
const between = (at, from, child) => from >= 0 && at >= from && at <= child;
function limb(at, origin, child) {
  const x = DX * (origin.at + 0.5), middle = ROW / 2;
  if (at === child) return `M${x} 0V${middle - 8}Q${x} ${middle} ${x + 8} ${middle}H${x + DX}`;
  return at === origin.from ? `M${x} ${middle}V${ROW}` : `M${x} 0V${ROW}`;
}

const Outcome = ({ worst = "holds", n }) => html`<span class="outcome-of small">${say("n steps", { n })} ${worst !== "holds" && html`<${Severity} value=${worst} />`}</span>`;
