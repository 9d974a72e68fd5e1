/* The set-up of a session (what is given, what is left out), and help with the keyboard. */

import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { Icon, say } from "./pieces.js";

function Dialog({ name, close, children }) {
  const element = useRef(null);
  useEffect(() => { element.current.showModal(); }, []);
  return html`<dialog ref=${element} class="stage-dialog" aria-labelledby="dialog-head" onClose=${close} onClick=${(event) => event.target === element.current && element.current.close()}>
    <div class="inside"><header class="row between"><h2 id="dialog-head">${name}</h2><button class="plain" title=${say("close")} onClick=${() => element.current.close()}><${Icon} name="x" /><span class="hush">${say("close")}</span></button></header>${children}</div></dialog>`;
}

export function SetUp({ stage, setups, close }) {
  const [chosen, setChosen] = useState({ setup: stage.setup, parameters: stage.parameters, leftOut: stage.leftOut });
  const setup = setups.find((one) => one.name === chosen.setup);
  const isSame = chosen.setup === stage.setup;
  const leave = (id, isLeft) => setChosen({ ...chosen, leftOut: isLeft ? [...chosen.leftOut, id] : chosen.leftOut.filter((one) => one !== id) });
  const begin = (event, steps) => {
    event.preventDefault();
    const dialog = event.target.closest("dialog");
    stage.configure({ ...chosen, steps, single: isSame ? stage.single : setup.single_steps }).then(() => stage.problem || dialog?.close());
  };
  const apply = (event) => begin(event, isSame ? undefined : setup.begins);
  return html`<${Dialog} name=${say("set-up")} close=${close}><form class="stack" onSubmit=${apply}>
    <div class="field"><label for="setup-name">${say("begin with")}</label><select id="setup-name" value=${chosen.setup} onChange=${(event) => setChosen({ setup: event.target.value, parameters: {}, leftOut: [] })}>
      ${setups.map((one) => html`<option key=${one.name} value=${one.name}>${one.title}</option>`)}</select><p class="muted">${setup?.about}</p></div>
    ${setup?.parameters.map((one) => html`<${Parameter} key=${`${setup.name}/${one.name}`} one=${one} value=${chosen.parameters[one.name] ?? one.default} change=${(value) => setChosen({ ...chosen, parameters: { ...chosen.parameters, [one.name]: value } })} />`)}
    ${setup?.may_leave_out.length > 0 && html`<fieldset class="rules-left-out"><legend>${say("leave out")}</legend>${setup.may_leave_out.map((one) => html`<label key=${one.id} class="check"><input type="checkbox" checked=${chosen.leftOut.includes(one.id)} onChange=${(event) => leave(one.id, event.target.checked)} /><span><code>${one.id}</code> <span class="muted">${one.protects}</span></span></label>`)}</fieldset>`}
    ${stage.problem && html`<p class="note danger" role="alert">${stage.problem}</p>`}
    <div class="row"><button class="first">${isSame ? say("apply") : say("begin")}</button>${isSame && html`<button type="button" onClick=${(event) => begin(event, setup.begins)}><${Icon} name="rotate-ccw" />${say("start over")}</button>`}</div>
  </form><//>`;
}

function Parameter({ one, value, change }) {
  const id = `parameter-${one.name}`, label = one.label.charAt(0).toUpperCase() + one.label.slice(1);
  if (typeof one.default === "boolean") return html`<label class="check"><input type="checkbox" checked=${value} onChange=${(event) => change(event.target.checked)} />${label}</label>`;
  const field = one.choices?.length
    ? html`<select id=${id} value=${String(value)} onChange=${(event) => change(one.choices.find((choice) => String(choice) === event.target.value))}>${one.choices.map((choice) => html`<option key=${choice} value=${String(choice)}>${String(choice)}</option>`)}</select>`
    : typeof one.default === "number"
      ? html`<input id=${id} type="number" min="0" max=${one.most} value=${value} onChange=${(event) => change(Number(event.target.value))} />`
      : html`<input id=${id} type="text" value=${Array.isArray(value) ? value.join(", ") : value} onChange=${(event) => change(Array.isArray(one.default) ? members(event.target.value) : event.target.value)} />`;
  return html`<div class="field"><label for=${id}>${label}</label>${field}</div>`;
}

const members = (text) => text.split(",").map((part) => part.trim()).filter(Boolean).map((part) => (/^\d+$/.test(part) ? Number(part) : part));

const KEYS = [["→", "key next"], ["←", "key back"], ["Home", "key first"], ["End", "key last"], ["Space", "key play"], ["1 – 9", "key take"], ["J  K", "key steps"], ["R", "key run"], ["B", "key branch"], ["M", "key compare"], ["C", "key link"], ["S", "key setup"], ["P", "key present"], ["?", "key help"]];

export const Help = ({ shortcuts, setShortcuts, close }) => html`<${Dialog} name=${say("keyboard")} close=${close}>
  <table class="keys-table"><tbody>${KEYS.map(([key, words]) => html`<tr key=${key}><th scope="row">${key.split("  ").map((one) => html`<kbd>${one}</kbd> `)}</th><td>${say(words)}</td></tr>`)}</tbody></table>
  <label class="check"><input type="checkbox" checked=${shortcuts} onChange=${(event) => setShortcuts(event.target.checked)} />${say("shortcuts on")}</label>
  <p class="small muted">${say("without shortcuts")}</p><//>`;
