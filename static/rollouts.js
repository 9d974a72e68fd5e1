/* A trace's frames one after the other: Back, Next, Play. Without this script all of them are listed. */

const FRAME_MS = 1800;

class Player {
  constructor(section) {
    this.frames = [...section.querySelectorAll("[data-frame]")];
    this.tools = section.querySelector(".player-tools");
    this.place = section.querySelector("[data-place]");
    this.timer = 0;
    this.tools.hidden = false;
    this.tools.addEventListener("click", (event) => {
      const move = event.target.closest("[data-move]")?.dataset.move;
      if (move === "play") this.play(); else if (move) this.stop().show(this.at + Number(move));
    });
    this.show(0);
  }

  show(at) {
    this.at = Math.max(0, Math.min(at, this.frames.length - 1));
    this.frames.forEach((frame, number) => { frame.hidden = number !== this.at; });
    this.place.textContent = `${this.at + 1} / ${this.frames.length}`;
    this.tools.querySelector('[data-move="-1"]').disabled = this.at === 0;
    this.tools.querySelector('[data-move="1"]').disabled = this.at === this.frames.length - 1;
    return this;
  }

  play() {
    this.stop();
    if (this.at === this.frames.length - 1) this.show(0);
    this.timer = setInterval(() => {
      this.show(this.at + 1);
      if (this.at === this.frames.length - 1) this.stop();
    }, FRAME_MS);
  }

  stop() {
    clearInterval(this.timer);
    return this;
  }
}

function begin(root) {
  for (const section of root.querySelectorAll("[data-player]")) new Player(section);
}

begin(document);
document.body.addEventListener("htmx:afterSwap", () => begin(document.getElementById("answer")));
