/* Lanes over time: the facts of the server, drawn as on the Cluster page; looking back, and presenter mode. */

import { History } from "./picture/history.js";
import { Lanes, around, zoomed } from "./picture/lanes.js";
import { plot } from "./picture/plots.js";
import { W, clock, explainLane, label, tips } from "./picture/words.js";

const LANES_MOST = 60, UNITS = 1000, LARGEST = 2.4, LEAST = 0.6, PROJECTOR_PX = 960;
const card = document.querySelector("[data-over-time]"), part = card.querySelector("[data-part]"), bar = card.querySelector("[data-look-back]");
const slider = bar.querySelector("input"), said = bar.querySelector("[data-stop]"), button = card.querySelector("[data-present]"), whole = card.querySelector("[data-whole]"), root = document.documentElement;
const slim = matchMedia("(max-width: 56rem)");
let lookedAt = null, zoom = null, scale = 1, text = "", facts = null, histories = []; // lookedAt: a moment; null: the newest, whatever comes

const many = (number) => Math.round(number).toLocaleString("en");
const places = (name) => [...part.querySelectorAll(`[data-${name}]`)];
const seconds = (iso) => Date.parse(iso) / 1000;

function read() {
  const told = part.querySelector("[data-facts]")?.textContent ?? "";
  if (told === text) return;
  text = told; facts = told ? JSON.parse(told) : null;
  histories = (facts?.tables ?? []).map((one) => { const history = new History(); history.setFacts(one); return history; });
}

function draw() {
  if (!facts) return;
  const end = facts.is_live ? Math.min(facts.end, window.serverClock.now() / 1000) : facts.end, t = lookedAt === null ? end : Math.min(end, seconds(lookedAt));
  const view = zoom ? zoomed(zoom) : around(histories, facts);
  whole.hidden = !zoom;
  const zoomTo = (to) => { zoom = zoom ? null : to; show(); };
  const drawn = places("lanes").map((place, i) => {
    const lanes = Object.assign(new Lanes(place, W, zoomTo, LANES_MOST), { scale });
    lanes.draw(histories[i], t, { now: end, label, clock, view, names: facts.tables[i].names });
    return lanes;
  });
  const common = { seconds: facts.seconds, each: facts.each, works: facts.tables[0].works, view, end, lookedAt: lookedAt === null ? null : t, width: drawn[0]?.width };
  const [rates, latencies] = places("plot");
  plot(rates, { ...common, words: W.change, curves: [["rate", (one) => one.statements_per_s]], units: (most) => W.perSShort.replace("{n}", many(most)), label: rates.dataset.plot });
  plot(latencies, { ...common, curves: [["p50", (one) => one.p50_ms], ["p99", (one) => one.p99_ms]], units: (most) => `${most < 10 ? most.toFixed(1) : many(most)} ms`, label: latencies.dataset.plot });
}

function show() {
  read(); draw();
  const all = [...part.querySelectorAll("[data-stops] li")];
  bar.hidden = all.length < 2;
  if (!all.length) return;
  slider.max = String(all.length - 1);
  const found = lookedAt === null ? all.length - 1 : Math.max(all.findLastIndex((stop) => stop.dataset.at <= lookedAt), 0), stop = all[found];
  slider.value = String(found);
  slider.setAttribute("aria-valuetext", stop.textContent);
  said.replaceChildren(...[...stop.childNodes].map((node) => node.cloneNode(true)));
  updates.takeRecords();
}
const updates = new MutationObserver(show);
slider.addEventListener("input", () => {
  const all = [...part.querySelectorAll("[data-stops] li")], at = Number(slider.value);
  lookedAt = at >= all.length - 1 ? null : all[at].dataset.at;
  show();
});
whole.addEventListener("click", () => { zoom = null; show(); });

/* On a projector the charts are as large as it is: as wide as their words need, or as high as there is room. */
const isPresenting = () => root.hasAttribute("data-presenting");
function fit() {
  scale = 1;
  if (isPresenting()) {
    show();
    const drawn = [...part.querySelectorAll("[data-lanes] svg, [data-plot] svg")], high = drawn.reduce((sum, one) => sum + one.getBoundingClientRect().height, 0);
    const low = Math.max(...[...card.children].map((one) => one.getBoundingClientRect().bottom)) - card.getBoundingClientRect().top;
    const free = innerHeight - 2 * card.offsetTop - 2 - parseFloat(getComputedStyle(card).paddingBottom) - low, most = Math.min(LARGEST, part.clientWidth / UNITS);
    scale = Math.max(innerWidth < PROJECTOR_PX ? Math.min(1, most) : LEAST, Math.min(most, 1 + free / high));
  }
  show();
}
function present(isOn) {
  root.toggleAttribute("data-presenting", isOn);
  button.setAttribute("aria-pressed", String(isOn));
  const head = card.querySelector("h2"); // the only one that is left: then it is the first
  if (isOn) head.setAttribute("aria-level", "1"); else head.removeAttribute("aria-level");
  fit();
  const address = new URL(location.href);
  if (isOn) address.searchParams.set("present", "1"); else address.searchParams.delete("present");
  history.replaceState(null, "", address);
}
addEventListener("resize", fit);
button.hidden = false;
button.addEventListener("click", () => present(!isPresenting()));
const tell = tips(card.querySelector("[data-tip]"), slim, (name, one) => {
  const i = places("lanes").findIndex((place) => place.contains(one));
  return i < 0 ? "" : explainLane(name, histories[i], lookedAt === null ? facts.end : seconds(lookedAt));
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { tell(null); if (zoom) { zoom = null; show(); return; } }
  if (event.ctrlKey || event.metaKey || event.altKey || localStorage.getItem("lab.shortcuts") === "off") return;
  if (event.target.closest("input:not([type=range]), select, textarea, [contenteditable], dialog")) return;
  if (event.key.toLowerCase() === "p" || (event.key === "Escape" && isPresenting())) present(!isPresenting());
});
show();
updates.observe(part, { childList: true, subtree: true, attributes: true });
if (new URLSearchParams(location.search).has("present")) present(true);
