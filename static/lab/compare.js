/* Two branches side by side, each at its end, with the first step in which they differ. */

import { html, useEffect, useState } from "../vendor/preact.js";
import { letter, parting } from "./branches.js";
import { Icon, say } from "./pieces.js";
import { wordsOf } from "./state.js";
import { Probe, Store, Verdicts } from "./store.js";
import { Diagram } from "./trace.js";

export function Compare({ stage }) {
  const pair = [stage.current, stage.compared];
  const [answers, setAnswers] = useState([]);
  useEffect(() => {
    let isWanted = true;
    Promise.all(pair.map((at) => stage.server.show(stage.session(stage.branches[at]), stage.branches[at].length, stage.single))).then(
      (found) => isWanted && setAnswers(found),
      (error) => {
        const words = wordsOf(error);
        if (!isWanted) return;
        stage.problem = words;
        stage.compare(null);
      },
    );
    return () => { isWanted = false; };
  }, [stage.current, stage.compared, stage.single]);
  const shared = parting(stage.branches[pair[0]], stage.branches[pair[1]]);
  return html`<section class="compare" aria-labelledby="compare-head"><header class="row between"><h2 id="compare-head">${say("compared", { one: letter(pair[0]), other: letter(pair[1]) })}</h2>
      <button onClick=${() => stage.compare(null)}><${Icon} name="x" />${say("end comparing")}</button></header>
    <div class="pair-of-branches">${answers.map(({ shown }, at) => {
      const mark = shown.trace.findIndex((line) => line.until > shared);
      return html`<article key=${at} class="panel" aria-label=${say("branch", { branch: letter(pair[at]) })}><header><h3>${say("branch", { branch: letter(pair[at]) })}</h3></header>
        <${Verdicts} verdicts=${shown.verdicts} /><${Diagram} shown=${shown} mark=${mark} of=${letter(pair[at])} /><${Store} cluster=${shown.cluster} of=${letter(pair[at])} /><${Probe} probe=${shown.probe} of=${letter(pair[at])} /></article>`;
    })}</div></section>`;
}
