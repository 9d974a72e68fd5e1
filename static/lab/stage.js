/* The stage: one page on which a session is played, looked at and shared.

     steps │ cluster, store, readers │ trace, branches
     ──────┴─────────────────────────┴────────────────
     transport and a strip per clause

   Where the columns are tabs, the transport is above them. With `data-embedded` it is a part of another page: without a
   head. It sends that page an event "stage" (detail: session up to the position shown, at, link) after
   each change. With `data-play` it plays what is given from where it stands. */

import { html, render, useState } from "../vendor/preact.js";
import { Versions } from "./cluster.js";
import { announce, areOn, keepFocus, listen, setOn } from "./keyboard.js";
import { Later } from "./later.js";
import { Icon, Severity, actorName, brokenName, classes, grouped, say, worst } from "./pieces.js";
import { Server } from "./server.js";
import { Stage } from "./state.js";
import { Steps } from "./steps.js";
import { Probe, Store, Verdicts } from "./store.js";
import { Branches, Trace } from "./trace.js";
import { Beside, Strip, Transport } from "./transport.js";

const root = document.getElementById("stage");
const given = JSON.parse(document.getElementById("stage-answer").textContent);
const setups = JSON.parse(document.getElementById("stage-setups").textContent);
const server = new Server({ url: root.dataset.url, csrf: root.dataset.csrf, first: given });
const stage = new Stage({ server, answer: given, notice: given.notice });
const later = new Later({ arrived: () => draw(), failed: () => { page.dialog = ""; stage.compared = null; stage.problem = say("unreachable"); draw(); } });
const { Head } = root.hasAttribute("data-embedded") ? {} : await import("./stage-head.js");
const { Ask, Asking } = root.dataset.questions ? await import("./ask.js") : {};
const asking = Asking ? new Asking(stage, later, (Questions) => new Questions(stage, server, root.dataset.questions)) : null;
if (root.dataset.needs) stage.needs = new Set(JSON.parse(root.dataset.needs));
const begins = root.dataset.begins ? JSON.parse(root.dataset.begins) : null;
const page = { dialog: "", tab: "steps", copied: false, layout: "", isPresenting: root.hasAttribute("data-present"), isEmbedded: root.hasAttribute("data-embedded") };

const TABS = [["steps", "steps"], ["cluster", "cluster"], ["trace", "trace"], ["checks", "checks"]];

function App() {
  const setup = setups.find((one) => one.name === stage.setup);
  const severity = worst(stage.shown.verdicts.map((one) => one.severity));
  const areTabs = page.layout === "tabs", people = setup?.kind === "handbooks", verdicts = stage.compared === null && html`<${Verdicts} verdicts=${stage.shown.verdicts} people=${people} />`, narration = stage.compared === null && html`<${Narration} setup=${setup} verdicts=${!areTabs && verdicts} people=${people} />`;
  const elsewhere = page.isEmbedded ? here() : "", transport = html`<${Transport} stage=${stage} elsewhere=${elsewhere} />`, beside = html`<${Beside} stage=${stage} elsewhere=${elsewhere} begins=${begins} />`, checks = html`<div class="part" data-part-of="checks"><${Strip} stage=${stage} /></div>`;
  return html`<div class=${classes({ app: true, embedded: page.isEmbedded })} data-layout=${page.layout} data-tab=${page.tab} data-severity=${severity}>
    ${!page.isEmbedded && html`<${Head} stage=${stage} setup=${setup} page=${page} urls=${root.dataset} acts=${{ open, copyLink, present }} />`}
    ${stage.problem && html`<p class="note danger" role="alert"><strong><${Icon} name="octagon-alert" />${say("problem")}</strong><span>${stage.problem}</span></p>`}
    ${areTabs ? html`<div class="top">${narration}${transport}</div>${stage.shown.verdicts.length > 0 && verdicts}` : narration}
    ${stage.compared !== null ? html`<${Part} of="./compare.js" name="Compare" stage=${stage} />` : html`
      <div class="tabs" role="tablist" aria-label=${say("parts")} onKeyDown=${betweenTabs}>${TABS.map(([tab, words]) => html`<button key=${tab} role="tab" id=${`tab-${tab}`} aria-selected=${page.tab === tab ? "true" : "false"} tabindex=${page.tab === tab ? null : -1} onClick=${() => toTab(tab)}>${say(words)}</button>`)}</div>
      <div class="columns-of">
        <section class="part" data-part-of="steps" aria-labelledby="steps-head"><h2 id="steps-head">${say("steps")}</h2><${Steps} stage=${stage} /></section>
        <div class="part" data-part-of="cluster"><${Versions} cluster=${stage.shown.cluster} verdicts=${stage.shown.verdicts} people=${people} />${!people && html`<${Store} cluster=${stage.shown.cluster} />`}<${Probe} probe=${stage.shown.probe} /></div>
        <div class="part" data-part-of="trace"><${Trace} stage=${stage} /><${Branches} stage=${stage} />${asking && setup?.kind === "model" && html`<${Ask} asking=${asking} />`}</div>
        ${areTabs && checks}
      </div>
      ${areTabs && beside}`}
    ${!areTabs && html`<div class="bottom"><div class="stack tight">${transport}${beside}</div>${checks}</div>`}
    ${page.dialog === "set-up" && html`<${Part} of="./dialogs.js" name="SetUp" stage=${stage} setups=${setups} close=${() => open("")} />`}
    ${page.dialog === "help" && html`<${KeyboardHelp} />`}
  </div>`;
}

/* A component of a part that is fetched when it is first shown. */
function Part({ of, name, ...rest }) {
  const part = later.part(of);
  return part && html`<${part[name]} ...${rest} />`;
}

/* Sentences about a node begin with its name, or are about what it does: then the name goes before. */
const isNamed = (line, setup) => setup?.kind !== "world" || line.text.startsWith(line.actor) || stage.shown.cluster.nodes.every((node) => node.name !== line.actor);

function Narration({ setup, verdicts, people }) {
  const line = stage.shown.trace[stage.stop - 1];
  return html`<div class="narration"><div><p class="sentence-now">${line ? html`<span class="count num">${stage.stop}</span><span>${isNamed(line, setup) || html`<b>${actorName(line.actor)}${say("colon")}</b>`}${line.text}</span>` : html`<span>${setup?.about ?? ""}</span>`}</p>
    ${stage.notice && html`<p class="notice small"><${Icon} name="info" />${stage.notice}</p>`}</div>${verdicts || html`<p class="broken small">${grouped(stage.shown.verdicts).map((one, at) => html`<span key=${at}><${Severity} value=${one.severity} /> ${brokenName(one, people)}</span>`)}</p>`}</div>`;
}

function KeyboardHelp() {
  const [shortcuts, setShortcuts] = useState(areOn());
  return html`<${Part} of="./dialogs.js" name="Help" shortcuts=${shortcuts} setShortcuts=${(isOn) => { setOn(isOn); setShortcuts(isOn); }} close=${() => open("")} />`;
}

const open = (dialog) => { page.dialog = dialog; draw(); };
const toTab = (tab) => { page.tab = tab; draw(); };

function betweenTabs(event) {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  event.stopPropagation();
  const at = TABS.findIndex(([tab]) => tab === page.tab);
  toTab(TABS[(at + by + TABS.length) % TABS.length][0]);
  document.getElementById(`tab-${page.tab}`).focus();
}

/* A session that is too long for a link has its set-up for an address. */
const here = () => `${location.origin}${root.dataset.url}?${stage.link ? `s=${stage.link}` : `setup=${stage.setup}`}`;
async function copyLink() {
  if (!navigator.clipboard) { // over plain HTTP from another machine
    stage.notice = say("address is link");
    return draw();
  }
  await navigator.clipboard.writeText(here());
  page.copied = true;
  draw();
  setTimeout(() => { page.copied = false; draw(); }, 2000);
}

function present() {
  page.isPresenting = !page.isPresenting;
  draw();
}

let announced = "";
function draw() {
  keepFocus(() => render(html`<${App} />`, root));
  const words = announce(stage);
  if (announced && words !== announced) document.getElementById("say").textContent = words;
  announced = words;
  if (page.isEmbedded) root.dispatchEvent(new CustomEvent("stage", { bubbles: true, detail: { session: stage.session(stage.steps.slice(0, stage.at)), at: stage.at, link: stage.link } }));
  else nameThePage();
}

/* While it plays, and where it names the same, the address stays: browsers allow few changes in a short time. Another
   branch that is dropped, or a step of a session too long for a link, does not change it. */
let address = "";
function nameThePage() {
  document.documentElement.toggleAttribute("data-presenting", page.isPresenting);
  if (stage.doing) return;
  stage.remember();
  document.title = document.title.replace(/^.* (?=· Schema Lab)/, `${stage.answer.title} ${stage.stop}/${stage.stops.length - 1} `);
  const name = `${here()}${page.isPresenting ? "&present=1" : ""}`;
  if (name === address) return;
  address = name;
  history.replaceState(null, "", address);
}

/* Three columns, two, or tabs: by the width the stage has, counted in letters. */
const WIDE_REM = 60, BESIDE_REM = 44;
function fit() {
  const rem = root.clientWidth / parseFloat(getComputedStyle(document.documentElement).fontSize);
  const layout = page.isEmbedded ? (rem >= BESIDE_REM ? "beside" : "tabs") : rem >= WIDE_REM ? "wide" : "tabs";
  if (layout === page.layout) return;
  page.layout = layout;
  draw();
}

/* The looks of what is not there at first. */
const LOOKS = new URL("../stage.css", import.meta.url).pathname;
function dress() {
  if (!document.querySelector(`link[href="${LOOKS}"]`)) document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: LOOKS }));
}
for (const kind of ["pointerdown", "keydown"]) document.addEventListener(kind, dress, { once: true, capture: true });
if (page.isPresenting || root.hasAttribute("data-ask")) dress();

stage.subscribe(draw);
listen(stage, page.isEmbedded ? {} : { s: () => open("set-up"), c: copyLink, p: present }, () => open("help"));
root.replaceChildren();
if (!page.isEmbedded) stage.recall();
fit();
new ResizeObserver(fit).observe(root);
if (root.hasAttribute("data-play")) stage.play();
if (root.hasAttribute("data-ask")) asking?.ask();
