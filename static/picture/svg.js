/* Elements of SVG, and what of them differs from the last drawing. */

const NS = "http://www.w3.org/2000/svg";
export const icons = document.querySelector("[data-icons]")?.dataset.icons ?? "";
export const GLYPHS = { absent: "circle-dashed", "delete-only": "minus", "write-only": "arrow-up", reorganising: "slashes", public: "check" };

export function add(parent, name, attributes = {}, text) {
  const made = document.createElementNS(NS, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}
export function set(element, attributes) {
  const last = (element.last ??= {});
  for (const key in attributes) {
    const value = attributes[key];
    if (last[key] === value) continue;
    last[key] = value;
    if (key === "text") element.textContent = value; else if (key === "move") element.style.transform = value; else element.setAttribute(key, value);
  }
}
export const show = (element, is) => set(element, { visibility: is ? "visible" : "hidden" });
export const move = (x, y) => `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
/** A thing that says what it is: on hover, focus and tap. */
export const part = (parent, name, kind = "", stop = true) => add(parent, "g", { class: kind, "data-what": name, role: "img", "aria-label": name, ...(stop ? { tabindex: 0 } : {}) });

/** A version's card: colour, pattern, glyph, then words. `paint` gives it another state. */
export function card(parent, width, height, size) {
  const g = add(parent, "g", { class: "chip" }), side = Math.min(height - 8, 20), round = Math.min(8, height / 3);
  const base = add(g, "rect", { class: "base", width, height, rx: round }), over = add(g, "rect", { class: "over", width, height, rx: round });
  const glyph = add(g, "use", { y: (height - side) / 2, width: side, height: side });
  const first = add(g, "text", { "font-size": size }), second = add(g, "text", { y: height / 2 + 17, "font-size": 14 });
  g.paint = (state, words = "", below = "") => {
    set(g, { class: `chip s-${state}${g.holds ? " holds" : ""}` });
    set(over, { fill: `url(#look-${state})` });
    set(glyph, { href: `${icons}#${GLYPHS[state]}`, x: words ? 7 : (width - side) / 2 });
    set(first, { text: words, x: 13 + side, y: below ? height / 2 - 3 : height / 2 + size * 0.36 }); set(second, { text: below, x: 13 + side });
  };
  g.base = base;
  return g;
}
