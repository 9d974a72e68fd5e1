/* Lists that stay true. The server alone decides what belongs into a list: once something has happened, it is asked again.

   <div data-refresh id="..">      replaced (morphed) by the same part of what is asked anew; data-busy: every 2 s
   <p data-mark="..">              in a live part: another mark says that something has happened
   <ol data-log data-newest="17">  gets the lines after its newest; while it is paused, or shows older ones, they are counted */

(() => {
  "use strict";
  const ANEW_MS = 1500;
  const log = document.querySelector("[data-log]"), parts = () => document.querySelectorAll("[data-refresh]");
  let asking = false, again = false;

  async function pageAt(address) {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(answer.statusText);
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  }
  async function refresh() {
    const address = new URL(location.href);
    address.searchParams.set("part", "list");
    const page = await pageAt(address);
    for (const part of parts()) {
      const newer = page.getElementById(part.id);
      if (newer) part.toggleAttribute("data-busy", newer.hasAttribute("data-busy"));
      if (newer) window.Idiomorph.morph(part, newer.innerHTML, { morphStyle: "innerHTML", ignoreActiveValue: true, restoreFocus: true });
    }
  }

  /* ---- the story */
  const pause = document.querySelector("[data-log-pause]"), count = document.querySelector("[data-log-count]");
  const isHeld = () => pause.getAttribute("aria-pressed") === "true";
  function showCount(n, isMore) {
    count.hidden = !n;
    count.querySelector("[data-n]").textContent = isMore ? `${n}+` : n;
  }
  async function read() {
    const address = new URL(location.href);
    address.searchParams.delete("before");
    address.searchParams.set("after", log.dataset.newest);
    const page = await pageAt(address), newer = page.querySelector("[data-log]");
    const found = [...newer.querySelectorAll("li[data-seq]")], isMore = Boolean(page.querySelector("a[rel=next]"));
    if (found.length && (isHeld() || log.dataset.older)) { showCount(found.length, isMore); return; }
    showCount(0);
    log.dataset.newest = newer.dataset.newest;
    if (!found.length) return;
    log.querySelector("[data-empty]")?.remove();
    for (const line of found) line.classList.add("new");
    const lines = found.map((line) => document.adoptNode(line));
    if (isMore) log.replaceChildren(...lines); else log.prepend(...lines);
    while (log.children.length > Number(log.dataset.most)) log.lastElementChild.remove();
  }
  if (pause) {
    pause.hidden = false;
    pause.addEventListener("click", () => {
      pause.setAttribute("aria-pressed", String(!isHeld()));
      news();
    });
    count.addEventListener("click", (event) => {
      if (log.dataset.older) return; // the link leads to the newest
      event.preventDefault();
      pause.setAttribute("aria-pressed", "false");
      news();
    });
  }

  /* At most one question at a time, and a pause after it: what happens meanwhile is in the next answer. */
  async function news() {
    if (document.hidden || asking) { again = true; return; }
    asking = true; again = false;
    try { await (log ? read() : refresh()); } catch { again = true; }
    setTimeout(() => { asking = false; if (again && !document.hidden) news(); }, ANEW_MS);
  }
  document.addEventListener("schemalab:event", news);
  document.addEventListener("schemalab:snapshot", news);
  const mark = () => document.querySelector("[data-mark]")?.dataset.mark;
  let seen = mark();
  document.addEventListener("schemalab:parts", () => { if (mark() !== seen) { seen = mark(); news(); } });
  /* What moves without an event of the story says how often it wants to be looked at. */
  setInterval(() => { if (!log && document.querySelector("[data-refresh][data-busy]")) news(); }, 2000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden && again) news(); });
})();
