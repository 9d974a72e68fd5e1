/* What the ladder, its stage and its player are made of. */

const ICONS = new URL("../icons.svg", import.meta.url).pathname;
export const still = matchMedia("(prefers-reduced-motion: reduce)");

/* An element with attributes, listeners (`onclick`) and what is inside of it; false and null are left out. */
export function h(tag, attributes = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...inside.flat().filter((one) => one != null && one !== false));
  return element;
}

export function svg(tag, attributes = {}, ...inside) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...inside);
  return element;
}

export const icon = (name) => svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: `${ICONS}#${name}` }));

/* Words with `{names}` filled in. */
export const fill = (words, values) => words.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

/* Scrolls to what answers, where it is not in sight: its middle, or its head where it is taller than the window. */
export function toSight(element) {
  const { top, bottom, height } = element.getBoundingClientRect();
  if (top < 0 || bottom > innerHeight) element.scrollIntoView({ block: height < innerHeight ? "center" : "start", behavior: still.matches ? "auto" : "smooth" });
}

/* Two regions of the page: a polite one, and one that interrupts. */
export function announce(text, isUrgent = false) {
  const region = document.getElementById(isUrgent ? "ladder-now" : "ladder-then");
  if (region) region.textContent = text;
}
