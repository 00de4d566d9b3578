/** The line that ends the opening: the button that inserts it, and the handle that drags it. */

import { ensureSyntaxTree, syntaxTree } from "@codemirror/language";
import {
  type ChangeSpec,
  type EditorState,
  type Extension,
  RangeSet,
  type StateCommand,
  StateEffect,
  StateField,
  type TransactionSpec,
} from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, keymap, WidgetType } from "@codemirror/view";
import { MARK } from "../../store/draft-text.ts";
import { COMMENT } from "../../store/opening-length.ts";
import { WORDS } from "../../words.ts";

interface Place {
  readonly from: number;
  readonly to: number;
}

/** The maximum time for parsing a text as far as needed, in milliseconds. */
const PATIENCE = 100;

/** The top-level blocks of a text, in order. */
function* blocksOf(state: EditorState): Generator<Place & { readonly name: string }> {
  const tree = ensureSyntaxTree(state, state.doc.length, PATIENCE) ?? syntaxTree(state);
  const block = tree.cursor();
  for (let more = block.firstChild(); more; more = block.nextSibling()) {
    const { name, from, to } = block;
    yield { name, from, to };
  }
}

/** The first line that ends an opening, which is the one that counts. */
function findLine(state: EditorState): Place | null {
  for (const { name, from, to } of blocksOf(state))
    if (name === COMMENT && state.sliceDoc(from, to).trim() === MARK) {
      const line = state.doc.lineAt(from);
      return { from: line.from, to: line.to };
    }
  return null;
}

/** The end of the outermost block around a position; the position itself between two blocks. */
function endOfBlock(state: EditorState, at: number): number {
  const line = state.doc.lineAt(at);
  for (const { from, to } of blocksOf(state)) {
    if (from > line.to) break;
    if (to >= line.from) return state.doc.lineAt(Math.max(from, to)).to;
  }
  return line.to;
}

/** Removes a line, and one of the blank lines around it. */
function removal(state: EditorState, { from, to }: Place): ChangeSpec {
  const { doc } = state;
  const next = to < doc.length ? doc.lineAt(to + 1) : null;
  if (next === null) return { from: Math.max(0, from - 1), to };
  const isBlank = next.text.trim() === "" && next.to < doc.length;
  return { from, to: isBlank ? next.to + 1 : next.from };
}

/** End the opening below the block at a position; null if it ends there already. */
export function endOpeningAt(state: EditorState, at: number): TransactionSpec | null {
  const present = findLine(state);
  const end = endOfBlock(state, at);
  if (present && end >= present.from && end <= present.to) return null;
  const { doc } = state;
  const above = doc.lineAt(end);
  const before = above.text.trim() === "" ? "" : "\n\n";
  const isLast = above.number === doc.lines;
  const isApart = !isLast && doc.line(above.number + 1).text.trim() === "";
  const insert = before + MARK + (isLast ? "\n\n" : isApart ? "" : "\n");
  const changes: ChangeSpec[] = [{ from: end, insert }];
  if (present) changes.push(removal(state, present));
  return { changes, userEvent: "input.opening" };
}

/** End the opening below the block with the cursor. */
export const endOpeningHere: StateCommand = ({ state, dispatch }) => {
  const spec = endOpeningAt(state, state.selection.main.head);
  if (spec) dispatch(state.update(spec, { scrollIntoView: true }));
  return true;
};

/** The position above which the dragged line would be dropped; null if no line is dragged. */
const aim = StateEffect.define<number | null>();

class OpeningLine extends WidgetType {
  override eq(): boolean {
    return true;
  }

  override toDOM(view: EditorView): HTMLElement {
    const handle = document.createElement("span");
    handle.className = "opening-handle";
    handle.title = WORDS.dragOpeningLine;
    handle.textContent = WORDS.freeUntilHere;
    handle.addEventListener("pointerdown", (event) => drag(view, handle, event));
    return handle;
  }

  /** Pointer and mouse events go to the handle, not to the editor. */
  override ignoreEvent(event: Event): boolean {
    return event.type.startsWith("pointer") || event.type.startsWith("mouse");
  }
}

function drag(view: EditorView, handle: HTMLElement, start: PointerEvent): void {
  if (start.button !== 0) return;
  start.preventDefault();
  handle.setPointerCapture(start.pointerId);
  let at: number | null = null;
  const listening = new AbortController();
  const { signal } = listening;
  const finish = (isDropped: boolean) => {
    listening.abort();
    view.dispatch({ effects: aim.of(null) });
    const spec = isDropped && at !== null ? endOpeningAt(view.state, at) : null;
    if (spec) view.dispatch(spec);
    view.focus();
  };
  handle.addEventListener(
    "pointermove",
    ({ clientX: x, clientY: y }) => {
      at = view.posAtCoords({ x, y }, false);
      view.dispatch({ effects: aim.of(endOfBlock(view.state, at)) });
    },
    { signal },
  );
  handle.addEventListener("pointerup", () => finish(true), { signal });
  handle.addEventListener("pointercancel", () => finish(false), { signal });
}

interface Drawn {
  readonly target: number | null;
  readonly shown: DecorationSet;
}

const HANDLE = Decoration.replace({ widget: new OpeningLine() });
const LINE = Decoration.line({ class: "opening-line" });
const TARGET = Decoration.line({ class: "opening-target" });

/** Draw the line as a handle, or as editable text while the cursor is in it. */
function draw(state: EditorState, target: number | null): Drawn {
  const ranges = [];
  const place = findLine(state);
  if (place) {
    ranges.push(LINE.range(place.from));
    const isEdited = state.selection.ranges.some(
      ({ from, to }) => from <= place.to && to >= place.from,
    );
    if (!isEdited) ranges.push(HANDLE.range(place.from, place.to));
  }
  if (target !== null) ranges.push(TARGET.range(state.doc.lineAt(target).from));
  return { target, shown: RangeSet.of(ranges, true) };
}

const field = StateField.define<Drawn>({
  create: (state) => draw(state, null),
  update: (drawn, transaction) => {
    const aimed = transaction.effects.find((effect) => effect.is(aim));
    const target = aimed ? aimed.value : transaction.docChanged ? null : drawn.target;
    const { state, startState } = transaction;
    const isParsed = syntaxTree(state) !== syntaxTree(startState);
    if (!transaction.docChanged && !transaction.selection && !isParsed && target === drawn.target)
      return drawn;
    return draw(state, target);
  },
  provide: (drawn) => EditorView.decorations.from(drawn, ({ shown }) => shown),
});

export const openingLine: Extension = [
  field,
  keymap.of([{ key: "Mod-Shift-Enter", run: endOpeningHere, preventDefault: true }]),
];
