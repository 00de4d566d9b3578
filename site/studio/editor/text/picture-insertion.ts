/** How a picture comes into the text. */

import type { EditorState, TransactionSpec } from "@codemirror/state";

/** Whether nothing was typed and the cursor was not moved between two states. */
export const isUntouched = (before: EditorState, now: EditorState): boolean =>
  now.doc.eq(before.doc) && now.selection.eq(before.selection);

/** Put a picture where the cursor is, and select its words: what is typed next describes it. */
export function insertSelected(state: EditorState, alt: string, source: string): TransactionSpec {
  const { head } = state.selection.main;
  const line = state.doc.lineAt(head);
  const isBlank = line.text.trim() === "";
  const before = isBlank ? "" : "\n\n";
  const at = isBlank ? head : line.to;
  const words = wordsOf(alt);
  const start = at + before.length + 2;
  return {
    changes: { from: at, insert: `${before}![${words}](${source})\n` },
    selection: { anchor: start, head: start + words.length },
    scrollIntoView: true,
    userEvent: "input.paste",
  };
}

/** Put a picture below the line of an author who goes on typing: the cursor stays where it is. */
export function insertBelow(state: EditorState, alt: string, source: string): TransactionSpec {
  const { to } = state.doc.lineAt(state.selection.main.head);
  return {
    changes: { from: to, insert: `\n\n![${wordsOf(alt)}](${source})\n` },
    userEvent: "input.paste",
  };
}

const wordsOf = (alt: string): string => alt || "Describe this picture";
