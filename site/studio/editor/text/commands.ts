/** Keyboard and toolbar commands of the editor. */

import { indentLess, indentMore } from "@codemirror/commands";
import {
  type ChangeSpec,
  EditorSelection,
  type EditorState,
  type Line,
  type StateCommand,
} from "@codemirror/state";
import type { KeyBinding } from "@codemirror/view";

/** Wrap the selection in marks, or remove them. */
const toggleMark =
  (mark: string): StateCommand =>
  ({ state, dispatch }) => {
    const length = mark.length;
    const change = state.changeByRange((range) => {
      const { from, to } = range;
      const around = state.sliceDoc(Math.max(0, from - length), from) === mark;
      if (around && state.sliceDoc(to, to + length) === mark) {
        return {
          changes: [
            { from: from - length, to: from },
            { from: to, to: to + length },
          ],
          range: EditorSelection.range(from - length, to - length),
        };
      }
      return {
        changes: [
          { from, insert: mark },
          { from: to, insert: mark },
        ],
        range: EditorSelection.range(from + length, to + length),
      };
    });
    dispatch(state.update(change, { scrollIntoView: true, userEvent: "input" }));
    return true;
  };

export const toggleBold = toggleMark("**");
export const toggleItalic = toggleMark("*");
export const toggleCode = toggleMark("`");

/** Turn the selection into a link and select its URL for typing. */
export const insertLink: StateCommand = ({ state, dispatch }) => {
  const change = state.changeByRange(({ from, to }) => {
    const text = state.sliceDoc(from, to);
    const isAddress = /^https?:\/\/\S+$/.test(text);
    const insert = isAddress ? `[](${text})` : `[${text}](https://)`;
    const start = isAddress || !text ? from + 1 : from + text.length + 3;
    const end = isAddress || !text ? start : start + "https://".length;
    return { changes: { from, to, insert }, range: EditorSelection.range(start, end) };
  });
  dispatch(state.update(change, { scrollIntoView: true, userEvent: "input" }));
  return true;
};

const LINE_MARK = /^(?:#{1,6} |> |[-*+] |\d+[.)] )/;

/** Add this prefix to every selected line, or remove it if all have it. */
const toggleLines =
  (markOf: (index: number) => string, has: RegExp): StateCommand =>
  ({ state, dispatch }) => {
    const lines = selectedLines(state);
    const isOn = lines.every(({ text }) => has.test(text));
    const changes: ChangeSpec[] = lines.map(({ from, text }, index) => {
      const present = LINE_MARK.exec(text)?.[0] ?? "";
      return { from, to: from + present.length, insert: isOn ? "" : markOf(index) };
    });
    dispatch(state.update({ changes, scrollIntoView: true, userEvent: "input" }));
    return true;
  };

export const toggleHeading = (level: 1 | 2 | 3): StateCommand =>
  toggleLines(() => `${"#".repeat(level)} `, new RegExp(`^#{${level}} `));
export const toggleQuote = toggleLines(() => "> ", /^> /);
export const toggleBullets = toggleLines(() => "- ", /^[-*+] /);
export const toggleNumbers = toggleLines((index) => `${index + 1}. `, /^\d+[.)] /);

function selectedLines(state: EditorState): Line[] {
  const found = new Map<number, Line>();
  for (const { from, to } of state.selection.ranges) {
    for (let at = from; at <= to; ) {
      const line = state.doc.lineAt(at);
      found.set(line.number, line);
      at = line.to + 1;
    }
  }
  return [...found.values()];
}

/** Enter in a list or a quotation begins the next item; in an empty item it ends the list. */
const continueList: StateCommand = ({ state, dispatch }) => {
  const { main, ranges } = state.selection;
  if (ranges.length > 1 || !main.empty) return false;
  const line = state.doc.lineAt(main.head);
  const found = /^(\s*)((?:>\s?)+|[-*+] (?:\[[ xX]\] )?|(\d+)([.)]) )/.exec(line.text);
  if (!found || main.head < line.from + found[0].length) return false;
  const [mark, indent = "", kind = "", number, end] = found;
  if (line.text.length === mark.length) {
    const changes = { from: line.from, to: line.to };
    dispatch(state.update({ changes, scrollIntoView: true, userEvent: "delete" }));
    return true;
  }
  const next = number ? `${Number(number) + 1}${end} ` : kind.replace(/\[[xX]\]/, "[ ]");
  const insert = `${state.lineBreak}${indent}${next}`;
  dispatch(
    state.update({
      changes: { from: main.head, insert },
      selection: { anchor: main.head + insert.length },
      scrollIntoView: true,
      userEvent: "input",
    }),
  );
  return true;
};

/** Key bindings of the text. Escape, then Tab, leaves the editor: CodeMirror does that itself. */
export const writingKeys: readonly KeyBinding[] = [
  { key: "Mod-b", run: toggleBold },
  { key: "Mod-i", run: toggleItalic },
  { key: "Mod-e", run: toggleCode },
  { key: "Mod-k", run: insertLink },
  { key: "Mod-Alt-1", run: toggleHeading(1) },
  { key: "Mod-Alt-2", run: toggleHeading(2) },
  { key: "Mod-Alt-3", run: toggleHeading(3) },
  { key: "Mod-Shift-8", run: toggleBullets },
  { key: "Mod-Shift-7", run: toggleNumbers },
  { key: "Mod-Shift-9", run: toggleQuote },
  { key: "Enter", run: continueList },
  { key: "Tab", run: indentMore, shift: indentLess },
];
