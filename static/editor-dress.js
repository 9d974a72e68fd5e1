/* CodeMirror over a textarea that stays the truth: forms send the textarea, htmx listens to it. */

import { EditorState, EditorView, keymap, drawSelection, defaultKeymap, history, historyKeymap, syntaxHighlighting, HighlightStyle, bracketMatching, sql, PostgreSQL, tags } from "./vendor/editor.js";

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--info)", fontWeight: "600" },
  { tag: [tags.string, tags.number], color: "var(--ok)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--warn)" },
]);
const look = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--bg)", fontSize: "0.95rem" },
  "&.cm-focused": { outline: "none" },
  ".cm-content": { fontFamily: "var(--mono)", padding: "0.6rem 0", caretColor: "var(--ink)", minHeight: "7rem" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--link) 30%, transparent)" },
});

export function dress(field) {
  const tell = EditorView.updateListener.of((update) => {
    if (!update.docChanged) return;
    field.value = update.state.doc.toString();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  const named = EditorView.contentAttributes.of({
    "aria-labelledby": field.dataset.label, "aria-multiline": "true", "aria-describedby": field.getAttribute("aria-describedby") || "",
  });
  /* Where a field has a history, the arrow keys ask for earlier statements at its first and last line. */
  const recall = (step) => (view) => {
    const { main } = view.state.selection, line = view.state.doc.lineAt(main.head).number;
    if (!field.dataset.history || !main.empty || line !== (step > 0 ? 1 : view.state.doc.lines)) return false;
    field.dispatchEvent(new CustomEvent("sql-recall", { detail: step }));
    return true;
  };
  /* A browser that types over a selection of several lines joins them with inline styles, which the page's policy forbids: the text is put by the editor. */
  const typeOver = EditorView.domEventHandlers({
    beforeinput(event, view) {
      if (event.inputType !== "insertText" || event.isComposing || event.data === null || view.state.selection.main.empty) return false;
      view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
      event.preventDefault();
      return true;
    },
  });
  const extensions = [
    typeOver, history(), drawSelection(), bracketMatching(), syntaxHighlighting(colours), look, tell, named, EditorView.lineWrapping,
    sql({ dialect: PostgreSQL }), keymap.of([{ key: "ArrowUp", run: recall(1) }, { key: "ArrowDown", run: recall(-1) }, ...defaultKeymap.filter((key) => key.key !== "Mod-Enter"), ...historyKeymap]),
  ];
  if (field.dataset.nonce) extensions.push(EditorView.cspNonce.of(field.dataset.nonce));
  const box = document.createElement("div");
  box.className = "editor";
  field.before(box);
  field.hidden = true;
  const view = new EditorView({ parent: box, state: EditorState.create({ doc: field.value, extensions }) });
  field.addEventListener("sql-put", (event) => {
    if (event.detail === view.state.doc.toString()) return;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: event.detail }, selection: { anchor: event.detail.length } });
  });
  field.addEventListener("sql-focus", () => view.focus());
  if (document.activeElement === document.body && field.autofocus) view.focus();
}
