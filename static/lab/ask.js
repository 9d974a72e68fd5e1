/* Right, below: the panel in which the explorer is asked. Its two buttons are always there; what they do is fetched when
   one of them is pressed first. */

import { html } from "../vendor/preact.js";
import { Icon, say } from "./pieces.js";

export class Asking {
  constructor(stage, later, make) {
    Object.assign(this, { stage, later, make, questions: null });
  }

  get isOpen() { return this.questions?.isOpen ?? false; }

  /* Does something with the questions, which are fetched where nobody has asked yet. */
  async with(act) {
    const parts = await this.later.fetched("./questions.js");
    if (!parts) return;
    this.Answers = parts.Answers;
    this.questions ??= this.make(parts.Questions);
    act(this.questions);
  }

  ask() {
    return this.with((questions) => {
      questions.set({ isOpen: true });
      questions.ask();
    });
  }
}

export function Ask({ asking }) {
  const { stage, questions, isOpen } = asking;
  const isDamaged = stage.shown.verdicts.some((one) => one.severity === "damage");
  return html`<section class="panel ask" aria-labelledby="ask-head"><header><h2 id="ask-head">${say("explorer")}</h2></header>
    <div class="row"><button aria-expanded=${isOpen ? "true" : "false"} onClick=${() => asking.with((one) => one.set({ isOpen: !isOpen }))}><${Icon} name="search-check" />${say("is there a way")}</button>
      ${isDamaged && html`<button onClick=${() => asking.with((one) => one.save())}><${Icon} name="undo-2" />${say("what saves")}</button>`}</div>
    ${questions && html`<${asking.Answers} questions=${questions} />`}</section>`;
}
