/* The button that prints a handout; without scripts the browser's own will do. */

const button = document.querySelector("[data-print]");
if (button) {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
}
