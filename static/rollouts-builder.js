/* The builder of Design a rollout: the deploys of the file as tiles, in an order that is the file's.

     tiles ──order──► the file's text ──ask──► the answer, as for any text
                                                  │
     marks between the tiles, the shortest run ◄──┘

   Each deploy has its lines (they came with the page), so an order of tiles is a text; what is written by hand comes
   back as tiles from the server. It knows no rule: gates and runs come with the answer. */

import { Ladder } from "./lab/ladder.js";
import { announce, h, still } from "./lab/ladder-parts.js";
import { LadderStage, Player } from "./lab/ladder-play.js";

const ASK_MS = 400, READ_MS = 500;
const MARKS = { green: "ok", red: "bad", amber: "wait" };

/* Before each tile is a gate; its colour comes with the answer and goes with the next change. */
class RolloutLadder extends Ladder {
  marks() {
    return this.order.map((_, place) => ({ kind: MARKS[this.gates?.[place]] ?? "none", pair: [] }));
  }
}

class Builder {
  constructor(root) {
    this.root = root;
    this.form = document.querySelector("form.rollout-form");
    this.text = this.form.querySelector("textarea");
    this.verdict = h("p", { class: "ladder-verdict", role: "status" });
    this.place = h("div");
    this.stageBox = h("div", { class: "ladder-run" });
    root.append(h("p", { class: "hush", id: "ladder-then", "aria-live": "polite" }), h("p", { class: "hush", id: "ladder-now", "aria-live": "assertive" }), this.place, this.verdict, this.stageBox);
    this.text.addEventListener("input", () => this.later("read", READ_MS, () => this.read()));
    document.body.addEventListener("htmx:afterSettle", () => this.answered());
    document.getElementById("answer").setAttribute("aria-live", "off"); // the verdict stands here, and is short
    this.build(JSON.parse(document.getElementById("rollout-tiles").textContent));
    this.answered();
    root.hidden = false;
  }

  later(name, ms, act) {
    this.timers ??= {};
    clearTimeout(this.timers[name]);
    this.timers[name] = setTimeout(act, ms);
  }

  build(data) {
    this.data = data;
    this.ladder = data.tiles ? new RolloutLadder({ data, order: data.order, onChange: () => this.changed() }) : null;
    this.place.replaceChildren(...(this.ladder ? [this.ladder.element] : []));
    this.verdict.textContent = data.problem ?? "";
    this.stageBox.replaceChildren();
  }

  /* Another order: it is the text, and is asked about as soon as the tile lies. */
  changed() {
    const { head, blocks, tail } = this.data;
    this.text.value = head + this.ladder.order.map((at) => blocks[at]).join("") + tail;
    this.forget();
    this.later("ask", ASK_MS, () => this.ask());
  }

  forget() {
    if (!this.ladder?.gates && !this.stageBox.childElementCount) return;
    this.stageBox.replaceChildren();
    this.verdict.textContent = "";
    if (this.ladder?.gates) {
      this.ladder.gates = null;
      this.ladder.draw();
    }
  }

  ask() {
    if (this.ladder.lifted !== null) return this.later("ask", ASK_MS, () => this.ask());
    this.verdict.textContent = this.root.dataset.exploring;
    this.form.requestSubmit();
  }

  async read() {
    this.forget();
    const answer = await fetch(this.root.dataset.url, { method: "POST", body: new FormData(this.form) }).catch(() => null);
    if (answer?.ok) this.build(await answer.json());
  }

  /* The answer is there: gates are marked, and the shortest run plays. */
  answered() {
    const found = document.getElementById("rollout-run");
    if (!found) return this.said(document.querySelector("#answer [data-rollout]"));
    const run = JSON.parse(found.textContent);
    found.remove();
    this.verdict.textContent = run.title;
    if (!this.ladder) return;
    this.ladder.gates = run.gates;
    this.ladder.draw();
    const player = new Player({ stage: new LadderStage({ data: this.data, order: this.ladder.order, played: run.played }), ladder: this.ladder });
    this.stageBox.replaceChildren(player.element);
    player.to(0).then(() => { if (!still.matches) player.play(); });
    announce(run.title);
  }

  /* An answer without a run: what is wrong with the file stands below. */
  said(card) {
    if (card && !card.hasAttribute("hx-get")) this.verdict.textContent = card.querySelector(".note strong")?.textContent.trim() ?? "";
  }
}

for (const root of document.querySelectorAll("[data-builder]")) new Builder(root);
