/* A chapter's page around the stage: the steps that were played go into the answer's form, and after a first action
   that was taken the way on is marked. A design that is searched for is sent again when its search has ended. What is
   right is for the server to say. */

import { Refusal, Server } from "./server.js";

const LOOK_MS = 500;
const root = document.getElementById("stage");
const steps = document.querySelector("[data-steps]");
const next = document.querySelector("[data-next]");
const asked = root ? JSON.parse(root.dataset.do || "[]") : [];

root?.addEventListener("stage", (event) => {
  const { session, at } = event.detail;
  const played = session.steps.slice(0, at);
  if (steps) {
    const now = JSON.stringify(played), isNew = now !== JSON.stringify(JSON.parse(steps.value));
    steps.value = now;
    if (isNew && steps.dataset.reached) look(now);
  }
  if (asked.length && endsWith(played, asked)) next?.classList.add("first");
});

/* Played until something is true: the server says when it is, and names what was made instead. */
const made = document.querySelector("[data-made]"), csrf = document.querySelector("[data-answer] [name=csrfmiddlewaretoken]")?.value;
async function look(now) {
  const answer = await fetch(steps.dataset.reached, { method: "POST", headers: { "X-CSRFToken": csrf }, body: new URLSearchParams({ steps: now }) }).catch(() => null); // Check is still there
  if (!answer?.ok || steps.value !== now) return;
  const found = await answer.json();
  if (steps.value !== now) return;
  if (found.is_goal) return document.querySelector("[data-answer]").requestSubmit();
  made.textContent = found.made;
  made.hidden = !found.made;
}

function endsWith(played, wanted) {
  return wanted.every((step, at) => played[played.length - wanted.length + at] === step);
}

/* A look that fails is made again: the search goes on. It has stopped where a later question of the same person took
   its place, or where it is not there any more. */
async function lookUntilAnswered(note) {
  const words = note.querySelector("[data-waiting]"), server = new Server({});
  for (let again = LOOK_MS; ;) {
    await new Promise((resume) => setTimeout(resume, again));
    const found = await server.look(note.dataset.asked).catch(stopped);
    again = (found?.again_s ?? 1) * 1000;
    if (!found) continue;
    if (found.state === "done") return document.querySelector("[data-answer]").requestSubmit();
    const said = words.dataset[found.state].replace(/\{(\w+)\}/g, (_, name) => ({ n: found.before, ...found })[name] ?? 0);
    if (words.textContent !== said) words.textContent = said;
    if (found.state === "stopped") return;
  }
}

function stopped(error) {
  if (error instanceof Refusal) return { state: "stopped" };
  throw error;
}

const search = document.getElementById("asked");
if (search) lookUntilAnswered(search);
document.getElementById("outcome")?.focus({ preventScroll: true });

/* Beside the stage the text scrolls in its own pane: the way to the task must not take the stage out of sight. */
const lesson = document.querySelector(".lesson");
function toTask() {
  if (location.hash !== "#task" || getComputedStyle(lesson).overflowY !== "auto") return;
  window.scrollTo({ top: 0, behavior: "instant" });
  const task = document.getElementById("task"), outcome = document.getElementById("outcome") ?? task;
  const below = outcome.getBoundingClientRect().bottom - lesson.getBoundingClientRect().bottom;
  if (below > 0) lesson.scrollTop += Math.min(below, task.getBoundingClientRect().top - lesson.getBoundingClientRect().top);
}
toTask();
addEventListener("load", () => requestAnimationFrame(() => {
  toTask();
  if (root?.hasAttribute("data-play") && getComputedStyle(lesson).overflowY !== "auto") import("./ladder-parts.js").then(({ toSight }) => toSight(root.closest(".lesson-stage")));
}));
