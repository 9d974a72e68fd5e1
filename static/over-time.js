/* Lanes over time: looking back, and presenter mode. The server draws; here a line is moved to the moment that is
   looked at, and its words are shown.

   <ol data-stops> <li data-x="12.5" data-at="..">   the moments, as the server wrote them
   <line data-cursor>                                one in each chart */

(() => {
  "use strict";
  const card = document.querySelector("[data-over-time]");
  if (!card) return;
  const part = card.querySelector("[data-part]"), bar = card.querySelector("[data-look-back]"), slider = bar.querySelector("input"), words = bar.querySelector("[data-stop]");
  const button = card.querySelector("[data-present]"), root = document.documentElement;
  let lookedAt = null; // a moment; null: the newest, whatever comes
  let wasLive = false;

  const isPresenting = () => root.hasAttribute("data-presenting");
  const region = () => part.querySelector(":scope > .scroll");
  const stops = () => [...part.querySelectorAll("[data-stops] li")];
  function show() {
    const all = stops();
    bar.hidden = all.length < 2;
    if (!all.length) return;
    slider.max = String(all.length - 1);
    const found = lookedAt === null ? -1 : all.findLastIndex((stop) => stop.dataset.at <= lookedAt);
    const at = lookedAt === null ? all.length - 1 : Math.max(found, 0), stop = all[at];
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", stop.textContent);
    words.replaceChildren(...[...stop.childNodes].map((node) => node.cloneNode(true)));
    if (isPresenting()) fill();
    for (const line of part.querySelectorAll("[data-cursor]")) {
      for (const name of ["x1", "x2"]) line.setAttribute(name, `${stop.dataset.x}%`);
      line.setAttribute("visibility", lookedAt === null ? "hidden" : "visible");
    }
    const isLive = "isLive" in region().dataset; // where charts are wider than the page, the newest is in view
    if (isLive && !wasLive && lookedAt === null) region().scrollLeft = region().scrollWidth;
    wasLive = isLive;
  }
  part.addEventListener("scroll", () => card.style.setProperty("--scrolled", `${region().scrollLeft}px`), true);
  slider.addEventListener("input", () => {
    const all = stops(), at = Number(slider.value);
    lookedAt = at >= all.length - 1 ? null : all[at].dataset.at;
    region().scrollLeft = Number(all[at].dataset.x) / 100 * region().scrollWidth - region().clientWidth / 2;
    show();
    updates.takeRecords();
  });
  const updates = new MutationObserver(() => { show(); updates.takeRecords(); });
  show();
  updates.observe(part, { childList: true, subtree: true, attributes: true });

  /* On a projector the charts are as high as it is. They are drawn in letters: these shrink, or grow as far as the words
     still fit beside each other, as they do where the charts are narrowest. */
  const NARROWEST_PX = 704, LETTERS_PX = 13, LEAST = 0.6, PROJECTOR_PX = 960;
  let scale = 1;
  function fill() {
    const wide = part.querySelector(".wide");
    if (!wide) return;
    const drawn = [...wide.querySelectorAll(":scope > svg, figure > svg")].reduce((sum, one) => sum + one.getBoundingClientRect().height, 0) / scale;
    const low = Math.max(...[...card.children].map((one) => one.getBoundingClientRect().bottom)) - card.getBoundingClientRect().top;
    const free = innerHeight - 2 * card.offsetTop - 2 - parseFloat(getComputedStyle(card).paddingBottom) - low;
    const most = wide.clientWidth / NARROWEST_PX * LETTERS_PX / (parseFloat(getComputedStyle(wide).fontSize) / scale);
    scale = Math.max(innerWidth < PROJECTOR_PX ? Math.min(1, most) : LEAST, Math.min(most, scale + free / drawn));
    card.style.setProperty("--scale", scale.toFixed(3));
  }
  window.addEventListener("resize", () => isPresenting() && fill());
  function present(isOn) {
    root.toggleAttribute("data-presenting", isOn);
    button.setAttribute("aria-pressed", String(isOn));
    const head = card.querySelector("h2"); // the only one that is left: then it is the first
    if (isOn) head.setAttribute("aria-level", "1"); else head.removeAttribute("aria-level");
    if (isOn) fill();
    const address = new URL(location.href);
    if (isOn) address.searchParams.set("present", "1"); else address.searchParams.delete("present");
    history.replaceState(null, "", address);
  }
  button.hidden = false;
  button.addEventListener("click", () => present(!isPresenting()));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || localStorage.getItem("lab.shortcuts") === "off") return;
    if (event.target.closest("input:not([type=range]), select, textarea, [contenteditable], dialog")) return;
    if (event.key.toLowerCase() === "p" || (event.key === "Escape" && isPresenting())) present(!isPresenting());
  });
  if (new URLSearchParams(location.search).has("present")) present(true);
})();
