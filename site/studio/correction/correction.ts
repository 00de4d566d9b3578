/** The state of a correction: the text that readers see, and the one that they will see. */

import { splitTitle, type TitledText } from "../store/draft-text.ts";

/** The maximum length of a note in code points. */
export const NOTE_LENGTH = 280;

export interface Correction {
  /** The newest text that readers see. */
  readonly shown: string;
  readonly text: string;
  readonly note: string;
  readonly state: "editing" | "signing" | "done";
  readonly failure: string | null;
}

export type CorrectionEvent =
  | { readonly type: "typed"; readonly text: string }
  | { readonly type: "noted"; readonly note: string }
  | { readonly type: "sign" }
  | { readonly type: "signed" }
  | { readonly type: "failed"; readonly sentence: string };

const folded = (title: string): string => title.replace(/\s+/g, " ").trim().toLowerCase();

/**
 * A post's text with everything that can be corrected in its body. A heading that repeats the title
 * of the post is left out: the title is on the chain, and readers would see both.
 */
export function correctable(content: string, title: string): TitledText {
  const split = splitTitle(content);
  const isRepeated = split.title !== "" && folded(split.title) === folded(title);
  return isRepeated ? split : { title: "", gap: "", body: content };
}

/** A correction of a text; one that was left without being signed is continued. */
export const openCorrection = (
  shown: string,
  left: Pick<Correction, "text" | "note"> = { text: shown, note: "" },
): Correction => ({
  shown,
  text: left.text,
  note: left.note,
  state: "editing",
  failure: null,
});

export function advance(state: Correction, event: CorrectionEvent): Correction {
  switch (event.type) {
    case "typed":
      return { ...state, text: event.text, state: "editing", failure: null };
    case "noted":
      return { ...state, note: event.note, state: "editing", failure: null };
    case "sign":
      return { ...state, state: "signing", failure: null };
    case "signed":
      return { ...state, shown: state.text, note: "", state: "done" };
    case "failed":
      return { ...state, state: "editing", failure: event.sentence };
  }
}

/** Whether the service accepts this note: one line, without control or direction characters. */
export const isNote = (note: string): boolean =>
  [...note].length <= NOTE_LENGTH &&
  !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(note);

/** Whether there is something to sign. */
export const canSign = ({ shown, text, note, state }: Correction): boolean =>
  state !== "signing" && text !== shown && isNote(note);
