/* The head of the page of the stage: what it shows, its set-up, and the ways to share it. */

import { html } from "../vendor/preact.js";
import { Icon, say } from "./pieces.js";

export const Head = ({ stage, setup, page, urls, acts }) => html`<div class="stage-head"><div class="names"><p class="crumbs"><a href=${urls.lab}>${say("lab")}</a>${stage.answer.chapter && html` / <a href=${`${urls.lab}chapters/${stage.answer.chapter}/`}>${say("its chapter")}</a>`}</p><h1>${stage.answer.title}</h1>${stage.answer.details.length > 0 && html`<p class="details small muted">${stage.answer.details.map((one, at) => html`<span key=${at}>${one}</span>`)}</p>`}</div>
  ${stage.leftOut.map((id) => html`<p key=${id} class="left-out small warn-text"><${Icon} name="triangle-alert" />${say("without", { rules: setup?.may_leave_out.find((one) => one.id === id)?.protects ?? id })}</p>`)}
  <div class="tools"><button onClick=${() => acts.open("set-up")}><${Icon} name="settings-2" /><span>${say("set-up")}</span></button>
    ${setup?.kind !== "handbooks" && html`<label class="check small"><input type="checkbox" checked=${stage.single} onChange=${(event) => stage.setSingle(event.target.checked)} />${say("single steps")}</label>`}
    <button onClick=${acts.copyLink}><${Icon} name=${page.copied ? "check" : "link"} /><span>${page.copied ? say("copied") : say("copy link")}</span></button>
    ${stage.link && urls.polls && html`<a class="button" href=${`${urls.polls}?s=${stage.link}`}><${Icon} name="users" /><span>${say("poll")}</span></a>`}
    ${stage.link && html`<${Export} kind=${setup?.kind} link=${stage.link} exported=${`${urls.url}export`} />`}
    ${stage.link && setup?.kind !== "handbooks" && urls.live && html`<a class="button" href=${`${urls.live}?s=${stage.link}`} title=${say("replay live")}><${Icon} name="play" /><span class="hush">${say("replay live")}</span></a>`}
    <button title=${page.isPresenting ? say("end presenting") : say("present")} onClick=${acts.present}><${Icon} name=${page.isPresenting ? "x" : "presentation"} /><span class="hush">${page.isPresenting ? say("end presenting") : say("present")}</span></button>
    <button title=${say("keyboard")} onClick=${() => acts.open("help")}><${Icon} name="keyboard" /><span class="hush">${say("keyboard")}</span></button></div></div>`;

/* The language of golden scripts is about a cluster: people with handbooks are not in it. */
const Export = ({ kind, link, exported }) => html`<details class="export"><summary class="button"><${Icon} name="file-text" /><span>${say("export")}</span></summary>
  <ul class="plain">${["svg", "json", ...(kind === "handbooks" ? [] : ["script"])].map((form) => html`<li key=${form}><a href=${`${exported}.${form}?s=${link}`}>${say(`export ${form}`)}</a></li>`)}</ul></details>`;
