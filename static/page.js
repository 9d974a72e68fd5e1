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
  document.querySelector("[data-language-form] select")?.addEventListener("change", (event) => event.target.form.submit());

  /* Ctrl+Enter (or Command+Enter) in an SQL field presses its form's first button. */
  document.addEventListener("keydown", (event) => {
    const form = event.target.closest?.("form[data-sql]");
    if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit(form.querySelector("button.first"));
    }
  });

  /* What asks first does so over the page that one is looking at; without JavaScript, or without an answer, on a page of its own. */
  const ask = document.createElement("dialog");
  ask.id = "ask";
  ask.setAttribute("aria-labelledby", "ask-title");
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a[data-ask], a[data-ask-close]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (link.matches("[data-ask-close]")) {
      if (ask.contains(link)) { event.preventDefault(); ask.close(); }
      return;
    }
    event.preventDefault();
    try {
      const answer = await fetch(link.href), body = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-ask-body]");
      if (!body) throw new Error(answer.statusText);
      body.querySelector("h1").id = "ask-title";
      ask.replaceChildren(document.adoptNode(body));
      if (!ask.isConnected) document.body.append(ask);
      ask.showModal();
    } catch { location.assign(link.href); }
  });

  /* The editor is heavy (115 kB) and comes only where somebody writes SQL, and only when it is asked for. */
  const field = document.querySelector("textarea.sql[data-editor]");
  if (field && window.matchMedia("(min-width: 40rem)").matches) import(field.dataset.editor).then((module) => module.dress(field));
})();
