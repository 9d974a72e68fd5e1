/* Keys of the stage. Fields, dialogs and lists keep theirs; all can be switched off. */

import { brokenName, grouped, say } from "./pieces.js";
import { KEYS_MAX } from "./steps.js";

const STORED = "lab.shortcuts";
export const areOn = () => localStorage.getItem(STORED) !== "off";
export const setOn = (isOn) => localStorage.setItem(STORED, isOn ? "on" : "off");

const FIELD = "input, select, textarea, [contenteditable], dialog";
const PRESSED_BY_SPACE = "button, summary, a";

export function listen(stage, keysOfThePage, help) {
  const does = {
    ArrowRight: () => { stage.pause(); stage.next(); },
    ArrowLeft: () => stage.back(),
    Home: () => stage.first(),
    End: () => stage.last(),
    " ": () => stage.play(),
    r: () => stage.run(),
    b: () => stage.toBranch((stage.current + 1) % stage.branches.length),
    m: () => stage.compare(stage.compared !== null ? null : stage.branches.length > 1 ? (stage.current + 1) % stage.branches.length : null),
    "?": help,
    j: () => move(1),
    k: () => move(-1),
    ...keysOfThePage,
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(FIELD) || !areOn()) return;
    if (event.key === " " && event.target.closest(PRESSED_BY_SPACE)) return;
    const number = Number(event.key);
    const act = number >= 1 && number <= KEYS_MAX ? () => document.querySelectorAll(".steps .step")[number - 1]?.click() : does[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

/* From step to step in the list of what may be done. */
function move(by) {
  const steps = [...document.querySelectorAll(".steps .step")];
  const at = steps.indexOf(document.activeElement);
  steps[at < 0 ? (by > 0 ? 0 : steps.length - 1) : (at + by + steps.length) % steps.length]?.focus();
}

/* After a step its button may be gone: the focus stays among the steps. What is under the pointer, or has the focus,
   stays where it is on the screen. */
export function keepFocus(draw) {
  const before = document.activeElement?.closest?.(".steps .step");
  const offer = before?.dataset.offer, all = [...document.querySelectorAll(".steps .step")], at = all.indexOf(before);
  const top = before?.getBoundingClientRect().top;
  draw();
  if (!offer) return;
  const same = document.querySelector(`.steps [data-offer="${CSS.escape(offer)}"]`);
  if (same) scroll(same, top);
  if (document.activeElement?.closest?.(".steps .step")) return;
  const after = [...document.querySelectorAll(".steps .step")];
  (same?.matches(".step") ? same : after[Math.min(at, after.length - 1)] ?? document.querySelector(".steps"))?.focus({ preventScroll: true });
}

/* Whatever scrolls: the steps, all columns, or the page. */
function scroll(element, top) {
  for (const region of [element.closest(".scroller"), element.closest(".columns-of"), window]) {
    const by = element.getBoundingClientRect().top - top;
    if (Math.abs(by) > 1) region.scrollBy({ top: by, behavior: "instant" });
  }
}

export const announce = (stage) => {
  const line = stage.shown.trace[stage.stop - 1];
  const broken = grouped(stage.shown.verdicts).map((one) => `${say(one.severity)}${say("colon")}${brokenName(one)}`);
  return [say("position", { at: stage.stop, n: stage.stops.length - 1 }), line?.text, ...broken].filter(Boolean).join(". ");
};
