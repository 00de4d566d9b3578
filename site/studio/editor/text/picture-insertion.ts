/** Pictures in the text: on lines of their own, with a description and a caption. */

import type { EditorState, TransactionSpec } from "@codemirror/state";
import { PICTURE } from "../../store/draft-text.ts";

/** The description and the caption of a picture. */
export interface PictureWords {
  /** The description, for people who cannot see the picture. */
  readonly alt: string;
  /** The caption, shown below the picture; may be empty. */
  readonly caption: string;
}

/** A picture found in the text. */
interface FoundPicture extends PictureWords {
  readonly from: number;
  readonly to: number;
  readonly source: string;
}

/** Whether nothing was typed and the cursor was not moved between two states. */
export const isUntouched = (before: EditorState, now: EditorState): boolean =>
  now.doc.eq(before.doc) && now.selection.eq(before.selection);

/** A picture as Markdown. */
export function pictureText(source: string, { alt, caption }: PictureWords): string {
  const words = alt.replace(/[[\]\\\s]+/g, " ").trim();
  const below = caption
    .replaceAll('"', "”")
    .replace(/[\\\s]+/g, " ")
    .trim();
  return `![${words}](${source}${below && ` "${below}"`})`;
}

/** Insert a picture below the line of the cursor, and move the cursor after it. */
export function insertAtCursor(state: EditorState, alt: string, source: string): TransactionSpec {
  const line = state.doc.lineAt(state.selection.main.head);
  const isBlank = line.text.trim() === "";
  const from = isBlank ? line.from : line.to;
  const before = isBlank ? breaksBefore(state, line.number) : "\n\n";
  const after = breaksAfter(state, line.number);
  const text = pictureText(source, { alt, caption: "" });
  return {
    changes: { from, to: line.to, insert: before + text + after },
    selection: { anchor: from + before.length + text.length + after.length },
    scrollIntoView: true,
    userEvent: "input.paste",
  };
}

/** Insert a picture below the line of an author who keeps typing: the cursor does not move. */
export function insertBelow(state: EditorState, alt: string, source: string): TransactionSpec {
  const { to, number } = state.doc.lineAt(state.selection.main.head);
  const text = pictureText(source, { alt, caption: "" });
  return {
    changes: { from: to, insert: `\n\n${text}${breaksAfter(state, number)}` },
    userEvent: "input.paste",
  };
}

const isBlankLine = (state: EditorState, number: number): boolean =>
  number < 1 || number > state.doc.lines || state.doc.line(number).text.trim() === "";

const breaksBefore = (state: EditorState, number: number): string =>
  isBlankLine(state, number - 1) ? "" : "\n";

/** A blank line follows a picture; at the end of the text, the line to continue in. */
const breaksAfter = (state: EditorState, number: number): string => {
  if (number === state.doc.lines) return "\n\n";
  return isBlankLine(state, number + 1) ? "\n" : "\n\n";
};

/** The picture in the line of a position, or null. */
export function pictureAt(state: EditorState, position: number): FoundPicture | null {
  const line = state.doc.lineAt(position);
  const found = [...line.text.matchAll(PICTURE)].map((picture) => foundAt(picture, line.from));
  return found.find(({ to }) => position <= to) ?? found.at(-1) ?? null;
}

/** The last picture of the text with this source, or null. */
export function pictureOf(state: EditorState, source: string): FoundPicture | null {
  const at = state.doc.toString().lastIndexOf(source);
  return at < 0 ? null : pictureAt(state, at);
}

function foundAt(picture: RegExpMatchArray, start: number): FoundPicture {
  const [text, alt = "", source = "", caption = ""] = picture;
  const from = start + (picture.index ?? 0);
  return { from, to: from + text.length, alt, source, caption };
}

/** Change the description and the caption of a picture. */
export const describe = (
  { from, to, source }: FoundPicture,
  words: PictureWords,
): TransactionSpec => ({
  changes: { from, to, insert: pictureText(source, words) },
  userEvent: "input",
});
