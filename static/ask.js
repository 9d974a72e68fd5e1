/* What asks first: over the page, and true for as long as somebody reads it. Comes when it is asked for.

   <div data-ask-body data-again>   what is asked; asked for again every few seconds, renewed around the form that is
                                    being filled in; when it cannot be done any more, that stands in the form's place
   <p data-now="limit">             within a form: renewed as well, for it says what holds now */

const AGAIN_MS = 3000;
const dialog = document.createElement("dialog");
dialog.id = "ask";
dialog.setAttribute("aria-labelledby", "ask-title");
let asked = { of: location.href, words: "" };

const answerOf = async (address) => new DOMParser().parseFromString(await (await fetch(address)).text(), "text/html").querySelector("[data-ask-body]");
const wordsOf = (body) => body.innerHTML.replace(/name="csrfmiddlewaretoken" value="\w+"/g, "");

/** A question that is longer than the window is read from its beginning. */
function toHead(body) {
  const head = body.querySelector("h1");
  head.tabIndex = -1;
  head.focus();
}

/** Raises when nothing is asked there. */
export async function over(address) {
  const body = await answerOf(address);
  asked = { of: address, words: wordsOf(body) };
  body.querySelector("h1").id = "ask-title";
  dialog.replaceChildren(document.adoptNode(body));
  if (!dialog.isConnected) document.body.append(dialog);
  dialog.showModal();
  if (dialog.scrollHeight > dialog.clientHeight) toHead(body);
}
dialog.addEventListener("click", (event) => {
  if (event.target.closest("a[data-ask-close]")) { event.preventDefault(); dialog.close(); }
});

/** All but the forms, which stay with what is typed in them: there only what describes the present (`data-now`). */
const withForms = (of) => [...of.children].filter((one) => one.matches("form") || one.querySelector("form"));
function renew(old, fresh) {
  const kept = withForms(old), others = withForms(fresh);
  if (kept.length !== others.length) { old.replaceChildren(...fresh.childNodes); return; }
  for (const one of [...old.childNodes]) if (!kept.includes(one)) one.remove();
  let next = 0;
  for (const one of [...fresh.childNodes]) {
    if (others.includes(one)) next += 1;
    else if (next < kept.length) kept[next].before(one);
    else old.append(one);
  }
  kept.forEach((one, at) => { if (one.matches("form")) renewWithin(one, others[at]); else renew(one, others[at]); });
}
function renewWithin(form, fresh) {
  for (const one of form.querySelectorAll("[data-now]")) {
    const other = fresh.querySelector(`[data-now="${one.dataset.now}"]`);
    if (other && !one.contains(document.activeElement)) one.replaceWith(other);
  }
}
async function again() {
  const shown = (dialog.open ? dialog : document.querySelector("main")).querySelector("[data-again]");
  if (!shown?.querySelector("form") || document.hidden) return;
  const { of } = asked, fresh = await answerOf(of).catch(() => null);
  if (!fresh || !shown.isConnected || asked.of !== of || wordsOf(fresh) === asked.words) return;
  asked = { of, words: wordsOf(fresh) };
  if (dialog.open) fresh.querySelector("h1").id = "ask-title";
  const wasInside = shown.contains(document.activeElement);
  const opened = [...shown.querySelectorAll("details")].map((one) => one.open);
  renew(shown, document.adoptNode(fresh));
  shown.querySelectorAll("details").forEach((one, at) => { one.open = opened[at] ?? one.open; });
  if (wasInside && !shown.contains(document.activeElement)) toHead(shown);
}
setInterval(again, AGAIN_MS);

/* A slider whose places stand for numbers, and the field of the number: each follows the other. */
const steps = (slider) => slider.dataset.steps.split(" ").map(Number);
const valueText = (slider) => slider.setAttribute("aria-valuetext", steps(slider)[slider.value].toLocaleString("en"));
document.addEventListener("input", ({ target }) => {
  const form = target.form;
  if (target.matches?.("input[data-steps]")) {
    form.elements[target.dataset.sets].value = steps(target)[target.value];
    valueText(target);
  } else if (target.matches?.("input[type=number]")) {
    const slider = form?.querySelector(`input[data-sets="${target.name}"]`);
    if (!slider || !target.value) return;
    const above = steps(slider).findIndex((step) => step >= Number(target.value));
    slider.value = above < 0 ? slider.max : above;
    valueText(slider);
  }
});
