/* The words of the picture, and what each part of the lanes says of itself: on hover, focus and tap. */

export const W = JSON.parse(document.querySelector("[data-dictionary]").textContent);
export const clock = (t) => window.serverClock.words(1000 * t);
export const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
const kindOf = (of) => W[`of${(of ?? "").split(" ")[0]}`];

/** The state of a version in words: with the element that moves, so that "absent" is not said of a whole version;
    with its name where several move one after another. */
export function label(of, phase, name = "") {
  const kind = name || kindOf(of), state = W[`state${phase}`] ?? phase;
  return kind ? fill(phase === "absent" && !name ? W.noElement : W.element, { kind, state }) : state;
}
/** The element that moves, as the subject of a sentence. */
export const what = (of) => kindOf(of) ?? W.ofelement;

export function explainLane(name, history, t) {
  const [kind, ...more] = name.split(" "), version = history.version(Number(more.at(-1)));
  switch (kind) {
    case "atmost": { const use = history.using(t, more[0]).find((one) => one.version === Number(more[1])); return use ? fill(W.xatmost, { node: use.node, n: use.version, t: clock(use.until) }) : ""; }
    case "wait": { const one = history.waits(t).find((other) => other.version === Number(more[0])); return one ? fill(W.xWait, { s: Math.floor((one.to ?? t) - one.from), node: one.node, n: one.held }) : ""; }
    case "work": return W[`x${more[0]}`] ?? W.xfill;
    case "use": return fill(W.xUse, { node: more[0], n: more[1], state: label(version?.of, version?.phase ?? "public", version?.name) });
    case "down": return fill(W.xDown, { node: more[0] });
    case "mark": return W[more[0]];
    case "fold": return fill(W.xFold, { s: more[0] });
    default: return "";
  }
}

/** Shows in `tip` what `explain` says of the part that is pointed at or focused; returns the function that shows it. */
export function tips(tip, slim, explain) {
  const tell = (part) => {
    const text = part && explain(part.dataset.what, part);
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text; part.setAttribute(part.getAttribute("role") === "button" ? "aria-description" : "aria-label", text);
    const box = part.getBoundingClientRect(), own = tip.getBoundingClientRect(), above = box.top - own.height - 10;
    tip.style.left = `${Math.max(8, Math.min(innerWidth - own.width - 8, box.left + box.width / 2 - own.width / 2))}px`;
    tip.style.top = `${slim.matches ? innerHeight - own.height - 8 : above > 6 ? above : Math.min(box.bottom + 10, innerHeight - own.height - 6)}px`;
  };
  for (const kind of ["pointerover", "focusin", "click"]) document.addEventListener(kind, (event) => tell(event.target.closest?.("[data-what]")));
  document.addEventListener("focusout", () => tell(null));
  return tell;
}
