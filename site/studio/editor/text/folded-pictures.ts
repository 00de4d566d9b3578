/**
 * Pictures in the text: their bytes are shown as a small picture, and their descriptions stay
 * editable.
 */

import {
  type EditorState,
  type Extension,
  type Range,
  RangeSet,
  StateField,
  type Transaction,
} from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import { fileSize } from "../../../page/format.ts";
import { PICTURE } from "../../store/draft-text.ts";

class FoldedPicture extends WidgetType {
  constructor(readonly source: string) {
    super();
  }

  override eq(other: FoldedPicture): boolean {
    return other.source === this.source;
  }

  override toDOM(): HTMLElement {
    const shown = document.createElement("span");
    shown.className = "folded-picture";
    const picture = document.createElement("img");
    picture.src = this.source;
    picture.alt = "";
    const size = document.createElement("span");
    size.textContent = fileSize((this.source.length * 3) / 4);
    shown.append(picture, size);
    return shown;
  }

  /** Leave clicks to the editor, which asks for the picture's description and caption. */
  override ignoreEvent(): boolean {
    return false;
  }
}

/** The folds of pictures between two positions, which are at line ends. */
function findPictures(state: EditorState, from: number, to: number): Range<Decoration>[] {
  const folds: Range<Decoration>[] = [];
  for (const found of state.sliceDoc(from, to).matchAll(PICTURE)) {
    const [text, alt = "", source = "", caption] = found;
    const widget = new FoldedPicture(source);
    const start = from + found.index + `![${alt}](`.length;
    // A caption stays in view, between the marks around it.
    const [open, end] = caption
      ? [start, start + source.length]
      : [start - 1, from + found.index + text.length];
    folds.push(Decoration.replace({ widget }).range(open, end));
  }
  return folds;
}

/** Re-scan only changed lines: a text with pictures is megabytes long. */
function follow(folds: DecorationSet, change: Transaction): DecorationSet {
  if (!change.docChanged) return folds;
  let followed = folds.map(change.changes);
  change.changes.iterChangedRanges((_from, _to, start, end) => {
    const { doc } = change.state;
    const from = doc.lineAt(start).from;
    const to = doc.lineAt(end).to;
    followed = followed.update({
      filter: (at) => at < from || at > to,
      add: findPictures(change.state, from, to),
    });
  });
  return followed;
}

const field = StateField.define<DecorationSet>({
  create: (state) => RangeSet.of(findPictures(state, 0, state.doc.length)),
  update: follow,
  provide: (folds) => [
    EditorView.decorations.from(folds),
    EditorView.atomicRanges.of((view) => view.state.field(folds)),
  ],
});

export const foldedPictures: Extension = field;
