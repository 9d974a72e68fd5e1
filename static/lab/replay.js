/* Plays a replay that has ended: the lanes are unveiled from left to right, and each action is marked when it was done.

   A long one is played faster and a short one slower, and the page says so. Reduced motion: all of it is there at once, and a button plays it. */

const SHORTEST_S = 4, LONGEST_S = 12, BEHIND_MS = 600;
const still = matchMedia("(prefers-reduced-motion: reduce)");

function play(part, button) {
  const lanes = part.querySelector("[data-lanes]"), veil = lanes.querySelector(".veil"), lines = [...part.querySelectorAll("li[data-at]")];
  const end = Number(lanes.dataset.seconds), left = Number(lanes.dataset.left), ends = [...part.querySelectorAll("[data-outcome-of]")];
  const speed = end / Math.min(Math.max(end, SHORTEST_S), LONGEST_S), began = performance.now(), run = {};
  part.run = run;
  button.disabled = true;
  const told = lanes.querySelector("[data-speed]");
  told.textContent = speed === 1 ? "" : told.dataset.speed.replace("{n}", speed.toPrecision(2));
  for (const one of ends) one.hidden = true;
  const frame = (now) => {
    if (part.run !== run || !veil.isConnected) return;
    const at = ((now - began) / 1000) * speed;
    veil.setAttribute("x", `${left + (100 - left) * Math.min(at / end, 1)}%`);
    for (const line of lines) line.classList.toggle("muted", Number(line.dataset.at) > at);
    if (at < end) return requestAnimationFrame(frame);
    setTimeout(() => { for (const one of ends) one.hidden = false; }, BEHIND_MS);
    button.disabled = false;
  };
  requestAnimationFrame(frame);
}

const part = document.querySelector("[data-recorded]"), button = document.querySelector("button[data-play]");
if (part.querySelector("[data-lanes]")) {
  button.hidden = false;
  button.addEventListener("click", () => play(part, button));
  if (!still.matches) play(part, button);
}
