/** Inserts a picture into the text. */

import type { EditorState, TransactionSpec } from "@codemirror/state";
import { WORDS } from "../../words.ts";

/** Whether nothing was typed and the cursor was not moved between two states. */
export const isUntouched = (before: EditorState, now: EditorState): boolean =>
  now.doc.eq(before.doc) && now.selection.eq(before.selection);

/** Insert a picture at the cursor, and select its description: what is typed next replaces it. */
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

/** Insert a picture below the line of an author who keeps typing: the cursor does not move. */
export function insertBelow(state: EditorState, alt: string, source: string): TransactionSpec {
  const { to } = state.doc.lineAt(state.selection.main.head);
  return {
    changes: { from: to, insert: `\n\n![${wordsOf(alt)}](${source})\n` },
    userEvent: "input.paste",
  };
}

const wordsOf = (alt: string): string => alt || WORDS.describePicture;
