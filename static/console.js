/* The console: earlier statements by arrow keys and by click, into the pane that was written in last. Without JavaScript their links do it. */

(() => {
  "use strict";
  const places = new WeakMap();
  let last = null;

  const fieldOf = (element) => element.closest("[data-pane]")?.querySelector("textarea.sql");
  document.addEventListener("focusin", (event) => { last = fieldOf(event.target) ?? last; });

  function put(field, text) {
    field.value = text;
    field.dispatchEvent(new CustomEvent("sql-put", { detail: text }));
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /* Place 0 is what was being written; 1 is the newest statement that was run. */
  function recall(field, step) {
    const told = document.querySelectorAll(`#${field.dataset.history} [data-recall]`);
    const state = places.get(field) ?? { place: 0, draft: "" };
    const place = Math.min(Math.max(state.place + step, 0), told.length);
    if (place === state.place) return;
    if (state.place === 0) state.draft = field.value;
    places.set(field, { place, draft: state.draft });
    put(field, place === 0 ? state.draft : told[place - 1].textContent);
  }

  document.addEventListener("sql-recall", (event) => recall(event.target, event.detail), true);
  document.addEventListener("keydown", (event) => {
    const field = event.target;
    if (!field.matches?.("textarea[data-history]") || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const before = field.value.slice(0, field.selectionStart), after = field.value.slice(field.selectionEnd);
    if (event.key === "ArrowUp" && !before.includes("\n")) { event.preventDefault(); recall(field, 1); }
    if (event.key === "ArrowDown" && !after.includes("\n")) { event.preventDefault(); recall(field, -1); }
  });
  document.addEventListener("submit", (event) => { const field = fieldOf(event.target); if (field) places.delete(field); });

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-recall]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const field = fieldOf(link) ?? last ?? document.querySelector("textarea[data-history]");
    if (!field) return;
    event.preventDefault();
    places.delete(field);
    put(field, (document.getElementById(link.dataset.recall) ?? link).textContent);
    field.dispatchEvent(new CustomEvent("sql-focus"));
    if (!field.hidden) field.focus();
  });
})();
