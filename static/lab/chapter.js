/* A chapter's page around the stage: the steps that were played go into the answer's form, and after a first action
   that was taken the way on is marked. What is right is for the server to say. */

const root = document.getElementById("stage");
const steps = document.querySelector("[data-steps]");
const next = document.querySelector("[data-next]");
const asked = root ? JSON.parse(root.dataset.do || "[]") : [];

root?.addEventListener("stage", (event) => {
  const { session, at } = event.detail;
  const played = session.steps.slice(0, at);
  if (steps) steps.value = JSON.stringify(played);
  if (asked.length && endsWith(played, asked)) done();
});

function endsWith(played, wanted) {
  return wanted.every((step, at) => played[played.length - wanted.length + at] === step);
}

function done() {
  next?.classList.add("first");
}

document.getElementById("outcome")?.focus({ preventScroll: true });
