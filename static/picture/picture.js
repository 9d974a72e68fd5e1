/* The Cluster page's picture: what arrives, the moment that is shown, and what each part says of itself.

   The present is drawn once a second, and soon after something has arrived. A moment of the past is drawn by the same
   code; pausing or stepping leaves the present, Live returns to it. */

import { Lanes, stretched, zoomed } from "./lanes.js";
import { Present, isOpen } from "./present.js";
import { Scene } from "./scene.js";
import { GLYPHS, icons, set } from "./svg.js";
import { W, clock, explainLane, fill, label, tips, what } from "./words.js";

const root = document.querySelector("[data-picture]"), $ = (name) => root.querySelector(`[data-${name}]`);
const calm = matchMedia("(prefers-reduced-motion: reduce)"), slim = matchMedia("(max-width: 56rem)");
const SOON_MS = 400, LANES_MS = 2000, LEAST_S = 60, SCALE = 0.9; // one screen
const history = new Present(), scene = new Scene($("scene"), W), lanes = new Lanes($("lanes"), W, (to) => { zoom = zoom ? null : to; draw(); });
let at = null, zoom = null, asked = false, waiting = 0, drawnAt = 0, lanesAt = -Infinity; // at: a moment that is looked at; null: the present

const now = () => window.serverClock.now() / 1000;

/** The Cluster page's window: the whole change that came last, a minute at least, and until the lease that blocks ends. */
function lately(history, t, now) {
  const last = history.works.at(-1), newest = history.state(Infinity), open = newest?.change && isOpen(newest.change) && newest.change.timeline;
  const began = open ? Math.min(...open.map((point) => (point.began ? Date.parse(point.began) / 1000 : Infinity))) : last?.began ?? Infinity;
  const wait = history.wait(now), busy = began < Infinity && open ? [[began, now]] : [];
  return stretched([history], Math.min(now - LEAST_S, began - 4, t - 1), Math.max(now + 2, wait ? wait.use.until + 1 : 0), now, busy);
}

/* ---- the steps of the change, as one line */
function steps(t) {
  const change = history.state(t)?.change, line = $("steps");
  line.hidden = !change;
  if (!change) return;
  const points = change.timeline.flatMap((point) => (point.works.length ? point.works.filter((work) => work.kind !== "close").map((work) => ({ ...point, kind: work.kind, when: work.when })) : point.kind === "close" ? [] : [{ ...point, kind: point.kind === "reorganise" ? "fill" : point.kind }]));
  const wanted = [...points, ...(isOpen(change) || change.status === "done" ? [{ kind: "done", when: change.status === "done" ? "done" : "todo" }] : [])];
  const moves = points.map((point) => history.version(point.version)?.of).find(Boolean);
  while (line.children.length > wanted.length) line.lastElementChild.remove();
  wanted.forEach((point, i) => {
    let li = line.children[i];
    if (!li) {
      li = document.createElement("li"); li.innerHTML = '<span class="stop"><svg viewBox="0 0 24 24" aria-hidden="true"><use></use></svg></span><span class="label"></span>'; line.append(li);
    }
    const isVersion = point.kind === "state", glyph = isVersion ? GLYPHS[point.state] : point.kind === "wait" ? "hourglass" : point.kind === "fill" ? "slashes" : point.kind === "verify" ? "search-check" : point.kind === "done" ? "flag" : point.kind === "delete" ? "minus" : "refresh-cw";
    const wait = point.kind === "wait" ? history.waits(t).find((one) => one.version === point.version) : null, past = at !== null && point.began && Date.parse(point.began) / 1000 > t ? "" : point.when === "done" ? "past" : point.when === "current" ? "now" : "";
    const work = history.state(t)?.change?.work;
    const text = isVersion ? `v${point.version} ${point.state === "absent" ? label(moves, "absent") : W[`state${point.state}`]}` : wait ? fill(W.waitStep, { s: Math.floor((wait.to ?? t) - wait.from), node: wait.node })
      : point.kind === "done" ? W.done : `${W[`work${point.kind}`] ?? W.wait}${past === "now" && work?.kind === point.kind && work.total ? ` ${work.percent} %` : ""}`;
    set(li, { class: `${past}${isVersion ? " version" : ""} s-${past && isVersion ? point.state : past && point.kind === "fill" ? "reorganising" : ""}`, "aria-current": past === "now" ? "step" : "false" });
    set(li.querySelector("use"), { href: `${icons}#${glyph}` }); set(li.lastChild, { text });
  });
}

/* ---- a moment */
function draw() {
  clearTimeout(waiting); waiting = 0;
  if (document.hidden || !history.table) return;
  drawnAt = performance.now();
  const present = now(), t = at ?? present;
  root.toggleAttribute("data-drawn", true); root.classList.toggle("past", at !== null);
  const change = history.state(t)?.change;
  root.classList.toggle("calm", at === null && !change); root.classList.toggle("moving", Boolean(change && isOpen(change)));
  scene.draw(history, t, { isSlim: slim.matches, isLive: at === null, calm: calm.matches || at !== null, label, what, clock, left: (until) => window.serverClock.left(1000 * until, at === null ? undefined : 1000 * at) });
  const moves = at !== null || history.wait(t) || history.work(t);
  lanes.scale = slim.matches ? 1 : SCALE;
  if (moves || drawnAt - lanesAt > LANES_MS) { lanes.draw(history, t, { now: present, label, clock, view: zoom ? zoomed(zoom) : lately(history, t, present) }); lanesAt = drawnAt; }
  steps(t);
  const { from } = lately(history, present, present), slider = $("at");
  set(slider, { min: Math.floor(from), max: present.toFixed(1) });
  if (at === null || document.activeElement !== slider) slider.value = t.toFixed(1);
  slider.setAttribute("aria-valuetext", clock(t));
  set($("time"), { text: clock(t) });
  const told = at === null ? null : history.story.filter((one) => one.at <= t).sort((a, b) => a.at - b.at).at(-1);
  set($("then"), { text: at === null ? "" : told ? `${clock(told.at)} ${told.sentence}` : clock(t) });
  if ($("words").open) inWords(t);
}
function soon() { if (!waiting) waiting = setTimeout(draw, Math.max(0, drawnAt + SOON_MS - performance.now())); }
document.addEventListener("schemalab:second", () => { if (at === null) draw(); });

function inWords(t) {
  const lines = history.nodes(t).map((node) => {
    const uses = history.using(t, node).map((use) => `v${use.version} (${label(history.version(use.version)?.of, history.version(use.version)?.phase ?? "public")})`).join(", "), down = history.down(t, node);
    return fill(down ? W.lineDown : uses ? W.lineUses : W.lineNone, { node, uses, kind: down ? W[down.kind] ?? down.kind : "" });
  });
  for (const wait of history.waits(t)) lines.push(fill(wait.to === null ? W.lineWaits : W.lineWaited, { s: Math.floor((wait.to ?? t) - wait.from), node: wait.node, n: wait.held, t: clock(wait.until) }));
  const list = $("words").querySelector("ul"), text = lines.join("\n");
  if (list.dataset.text !== text) { list.dataset.text = text; list.replaceChildren(...lines.map((line) => Object.assign(document.createElement("li"), { textContent: line }))); }
}

/* ---- what is this? */
function explain(name) {
  const [kind, ...more] = name.split(" "), t = at ?? now(), wait = history.wait(t), version = history.version(Number(more.at(-1)));
  switch (kind) {
    case "node": {
      const node = more[0], down = history.down(t, node), use = history.using(t, node)[0];
      if (down && use) return fill(W.xDead, { node, n: use.version, t: clock(use.until) });
      return wait?.node === node ? `${fill(W.xNode, { node })} ${fill(W.xatmost, { node, n: wait.held, t: clock(wait.use.until) })}` : fill(W.xNode, { node });
    }
    case "session": { const use = history.using(t, more[0]).find((one) => history.holder(one, t)); return use ? fill(W.xSession, { node: more[0], who: history.holder(use, t).who, n: use.version, t: clock(use.until) }) : ""; }
    case "publisher": return wait ? fill(W.xPublisherWaits, { node: wait.node, n: wait.held }) : W.xPublisher;
    case "version": return fill(W[`x${version?.phase ?? "public"}`] ?? "", { n: more[0], what: what(version?.of) });
    case "storage": return fill(W.xStorage, { n: more[0] });
    case "clients": return fill(W.xClients, { node: more[0] });
    default: return explainLane(name, history, t) || (W[`x${kind}`] ?? "");
  }
}
const tell = tips($("tip"), slim, explain);

/* ---- time: live, paused, step by step */
function look(t) { at = t; $("live").hidden = at === null; set($("pause"), { text: at === null ? W.pause : W.paused, "aria-pressed": String(at !== null) }); draw(); }
function step(by) {
  const here = at ?? now(), all = history.moments().filter((one) => one <= now());
  const to = by > 0 ? all.find((one) => one + 0.2 > here + 0.01) : all.findLast((one) => one + 0.2 < here - 0.05);
  look(by > 0 && to === undefined ? null : (to ?? history.start) + 0.2);
}
$("pause").onclick = () => look(at === null ? now() : null);
$("live").onclick = () => look(null);
$("back").onclick = () => step(-1);
$("on").onclick = () => step(1);
$("at").oninput = () => look(Number($("at").value) >= Math.floor(now()) - 1 ? null : Number($("at").value));
$("words").ontoggle = () => draw();
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { tell(null); if (zoom) { zoom = null; draw(); } }
  if (event.ctrlKey || event.metaKey || event.altKey || localStorage.getItem("lab.shortcuts") === "off" || document.querySelector("dialog[open]")) return;
  if (event.target.closest("input, select, textarea, summary, a, button, [contenteditable], [data-story], .scroll")) return;
  if (event.key === " ") { $("pause").click(); event.preventDefault(); }
  if (event.key === "ArrowLeft" || event.key === "ArrowRight") { step(event.key === "ArrowLeft" ? -1 : 1); event.preventDefault(); }
});
for (const media of [calm, slim]) media.addEventListener("change", draw);
addEventListener("resize", () => { scene.resized = true; lanes.width = 0; soon(); });
document.addEventListener("visibilitychange", soon);

/* ---- what arrives */
function take(parts) {
  const time = now();
  if (parts.facts) { asked = false; history.setFacts(JSON.parse(parts.facts)); root.classList.toggle("empty", !history.table); }
  if (parts.now && history.addNow(JSON.parse(parts.now), time) && !asked) { asked = true; window.schemalab.again(); }
  if (parts.pulse) history.addPulse(JSON.parse(parts.pulse), time);
  if (parts.facts || parts.now) draw(); // with the sentence above it, which is of the same moment; a pulse waits for its second
}
document.addEventListener("schemalab:parts", (event) => take(event.detail ?? {}));
document.addEventListener("schemalab:event", (event) => { history.addEvent(event.detail); soon(); });
for (const event of JSON.parse($("past").textContent)) history.addEvent(event);
take(window.schemalab?.parts ?? {});
