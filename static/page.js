/* Small comforts of every page. Everything here also works, more slowly, without JavaScript. */

(() => {
  "use strict";
  /* The theme: system, light, dark; kept in a cookie, so that the server's first answer has it already. */
  document.querySelector("[data-theme-form]")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const root = document.documentElement, chosen = event.submitter.value;
    if (chosen === "system") delete root.dataset.theme; else root.dataset.theme = chosen;
    document.cookie = `theme=${chosen}; path=/; max-age=31536000; samesite=lax`;
    for (const button of event.target.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button === event.submitter));
  });
  document.querySelector("[data-language-form] select")?.addEventListener("change", (event) => event.target.form.requestSubmit());

  document.querySelector(".bar nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }); // on a phone the row scrolls

  /* The server's clock, on which times count; the one at the foot shows it. */
  let ahead = 0;
  const clock = {
    now: () => Date.now() + ahead,
    set(text) { if (text) ahead = Date.parse(text) - Date.now(); },
    words: (ms) => new Date(ms).toISOString().slice(11, 19),
  };
  clock.set(document.documentElement.dataset.serverTime);
  window.serverClock = clock;
  const foot = document.querySelector("[data-clock]");
  /* One beat a second for all that counts time: each beat of its own would cost a frame of its own. */
  setInterval(() => {
    if (foot) foot.textContent = clock.words(clock.now());
    document.dispatchEvent(new Event("schemalab:second"));
  }, 1000);

  /* Ctrl+Enter (or Command+Enter) in an SQL field presses its form's first button. */
  document.addEventListener("keydown", (event) => {
    const form = event.target.closest?.("form[data-sql]");
    if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit(form.querySelector("button.first"));
    }
  });

  /* A form on its way is not sent again by the second click of a double click, whose answer would hide the first one's. */
  const SENT_MS = 5000;
  let sent = new WeakMap();
  document.addEventListener("submit", (event) => {
    const form = event.target, before = sent.get(form);
    if (event.defaultPrevented || form.method !== "post") return;
    if (before !== undefined && event.timeStamp - before < SENT_MS) event.preventDefault();
    else sent.set(form, event.timeStamp);
  });
  window.addEventListener("pageshow", () => { sent = new WeakMap(); });

  /* What asks first does so over the page; without an answer, on a page of its own. */
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-ask]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    import("./ask.js").then((module) => module.over(link.href)).catch(() => location.assign(link.href));
  });
  if (document.querySelector("[data-ask-body]")) import("./ask.js");

  /* A message disappears by itself, unless somebody is at it; any can be closed. */
  const SHOWN_MS = 12000;
  for (const toast of document.querySelectorAll(".toasts > *")) {
    const go = () => toast.matches(":hover, :focus-within") ? setTimeout(go, SHOWN_MS) : toast.remove();
    toast.querySelector("button").addEventListener("click", () => toast.remove());
    if (toast.matches("[data-goes]")) setTimeout(go, SHOWN_MS);
  }

  /* A word of the glossary says what it means when it is pointed at or reached by Tab, until Escape; a tap shows it first,
     and is a link the second time. A click by mouse does not leave the page: Enter does, and a click for another tab. */
  const meaning = document.createElement("div"), PATIENCE_MS = 180;
  meaning.id = "meaning";
  meaning.setAttribute("role", "tooltip");
  let word = null, timer = 0;
  const hide = () => {
    clearTimeout(timer);
    word?.removeAttribute("aria-describedby");
    word = null;
    meaning.remove();
  };
  const show = (link) => {
    clearTimeout(timer);
    if (link === word || !link.isConnected) return;
    hide();
    word = link;
    meaning.textContent = link.dataset.meaning;
    (link.closest("dialog") ?? document.body).append(meaning);
    link.setAttribute("aria-describedby", meaning.id);
    const at = link.getBoundingClientRect(), own = meaning.getBoundingClientRect();
    const below = at.bottom + own.height + 12 < innerHeight;
    meaning.style.left = `${Math.max(8, Math.min(at.left, document.documentElement.clientWidth - own.width - 8))}px`;
    meaning.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - own.height - 6)}px`;
  };
  const soon = (what, ...values) => { clearTimeout(timer); timer = setTimeout(what, PATIENCE_MS, ...values); };
  const termAt = (event) => event.target.closest?.("a.term");
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const link = termAt(event);
    if (link) soon(show, link); else if (meaning.contains(event.target)) clearTimeout(timer); else if (word) soon(hide); else clearTimeout(timer);
  });
  document.addEventListener("focusin", (event) => termAt(event)?.matches(":focus-visible") ? show(termAt(event)) : word && hide());
  document.addEventListener("focusout", (event) => termAt(event) === word && hide());
  document.addEventListener("keydown", (event) => event.key === "Escape" && word && hide());
  document.addEventListener("scroll", () => word && hide(), { passive: true, capture: true });
  document.addEventListener("click", (event) => {
    const link = termAt(event);
    const isPlain = event.detail > 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (link && isPlain && (event.pointerType !== "touch" || link !== word)) { event.preventDefault(); show(link); }
    else if (word && !meaning.contains(event.target)) hide();
  });

  /* The editor is heavy (115 kB) and comes only where somebody writes SQL, and only when it is asked for. */
  const fields = window.matchMedia("(min-width: 40rem)").matches ? document.querySelectorAll("textarea.sql[data-editor]") : [];
  for (const field of fields) import(field.dataset.editor).then((module) => module.dress(field));
})();
