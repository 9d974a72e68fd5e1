/* A teacher's grid, or the votes of a poll, kept up to date: asked for every other second while somebody looks, and
   morphed in place, so that focus and scrolling stay where they are. A page that may no longer see it, or whose course
   or poll is gone, is loaded again, and says why. */

(() => {
  "use strict";
  const EVERY_MS = 2000;
  async function look() {
    const grid = document.getElementById("grid");
    try {
      if (document.hidden) return;
      const answer = await fetch(grid.dataset.url);
      if (answer.ok) window.Idiomorph.morph(grid, await answer.text(), { morphStyle: "outerHTML", restoreFocus: true });
      else if (answer.status === 403 || answer.status === 404) location.reload();
    } catch {
      /* The server does not answer: what is shown stays, and the next look comes soon. */
    } finally {
      setTimeout(look, EVERY_MS);
    }
  }
  setTimeout(look, EVERY_MS);
})();
