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
const toggleInlineCode = toggleMark("`");

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** Mark words as code; several lines get a fence, which is removed the same way. */
export const toggleCode: StateCommand = ({ state, dispatch }) => {
  const { main } = state.selection;
  const first = state.doc.lineAt(main.from);
  const last = state.doc.lineAt(main.to);
  if (first.number === last.number) return toggleInlineCode({ state, dispatch });
  const above = first.number > 1 ? state.doc.line(first.number - 1) : null;
  const below = last.number < state.doc.lines ? state.doc.line(last.number + 1) : null;
  if (above && below && FENCE.test(above.text) && FENCE.test(below.text)) {
    const changes = [
      { from: above.from, to: first.from },
      { from: last.to, to: below.to },
    ];
    dispatch(state.update({ changes, scrollIntoView: true, userEvent: "input" }));
    return true;
  }
  const code = state.sliceDoc(first.from, last.to);
  const longest = Math.max(2, ...[...code.matchAll(/`{3,}/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const start = first.from + fence.length + 1;
  dispatch(
    state.update({
      changes: [
        { from: first.from, insert: `${fence}\n` },
        { from: last.to, insert: `\n${fence}` },
      ],
      selection: { anchor: start, head: start + code.length },
      scrollIntoView: true,
      userEvent: "input",
    }),
  );
  return true;
};

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
    const made = state.changes(changes);
    // Behind a new mark: what is typed next belongs to the line.
    const ranges = state.selection.ranges.map(({ anchor, head }) =>
      EditorSelection.range(made.mapPos(anchor, 1), made.mapPos(head, 1)),
    );
    const selection = EditorSelection.create(ranges, state.selection.mainIndex);
    dispatch(state.update({ changes: made, selection, scrollIntoView: true, userEvent: "input" }));
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

/** Replace a line, and put the cursor at an offset in the new line. */
const rewriteLine = (state: EditorState, { from, to }: Line, insert: string, at = insert.length) =>
  state.update({
    changes: { from, to, insert },
    selection: { anchor: from + at },
    scrollIntoView: true,
    userEvent: "input",
  });

const ITEM = /^(\s*)((?:>\s?)+|[-*+] (?:\[[ xX]\] )?|(\d+)([.)]) )/;

/**
 * Enter in a list or a quotation begins the next item. In an empty item it leaves the list: a blank
 * line follows, without which Markdown would continue the item. An item within another moves out
 * one level.
 */
export const continueList: StateCommand = ({ state, dispatch }) => {
  const { main, ranges } = state.selection;
  if (ranges.length > 1 || !main.empty) return false;
  const line = state.doc.lineAt(main.head);
  const found = ITEM.exec(line.text);
  if (!found || main.head < line.from + found[0].length) return false;
  const [mark, indent = "", kind = "", number, end] = found;
  if (line.text.length === mark.length) {
    const above = line.number > 1 ? state.doc.line(line.number - 1).text : "";
    const outer = outerItem(state, line, indent.length);
    if (outer !== null) dispatch(rewriteLine(state, line, outer));
    else dispatch(rewriteLine(state, line, above.trim() === "" ? "" : state.lineBreak));
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

/** The mark of the next item in the list around an item with this indent; null if there is none. */
function outerItem(state: EditorState, line: Line, indent: number): string | null {
  if (indent === 0) return null;
  for (let at = line.number - 1; at > 0; at -= 1) {
    const { text } = state.doc.line(at);
    const found = ITEM.exec(text);
    if (!found && text.trim() === "") return null;
    const [, before = "", kind = "", number, end] = found ?? [];
    if (found && before.length < indent)
      return before + (number ? `${Number(number) + 1}${end} ` : kind.replace(/\[[xX]\]/, "[ ]"));
  }
  return null;
}

const ROW = /^\s*\|.*\|\s*$/;
const RULE = /^\s*\|(?:\s*:?-+:?\s*\|)+\s*$/;

/** Insert a table below the line of the cursor, and select its first heading. */
export const insertTable =
  (column: string): StateCommand =>
  ({ state, dispatch }) => {
    const line = state.doc.lineAt(state.selection.main.head);
    const isBlank = line.text.trim() === "";
    const above = line.number > 1 && isBlank ? state.doc.line(line.number - 1).text.trim() : "";
    const before = isBlank ? (above ? "\n" : "") : "\n\n";
    const rows = [`| ${column} 1 | ${column} 2 |`, "| --- | --- |", "|  |  |"].join("\n");
    const from = isBlank ? line.from : line.to;
    const start = from + before.length + 2;
    dispatch(
      state.update({
        changes: { from, to: line.to, insert: `${before}${rows}\n` },
        selection: { anchor: start, head: start + column.length + 2 },
        scrollIntoView: true,
        userEvent: "input",
      }),
    );
    return true;
  };

/** The cells of a table's row, as positions in it; an escaped bar is part of its cell. */
function cellsOf(text: string): { readonly from: number; readonly to: number }[] {
  const bars = [...text.matchAll(/\\.|\|/g)]
    .filter(([bar]) => bar === "|")
    .map(({ index }) => index);
  return bars.slice(0, -1).map((bar, index) => {
    const cell = text.slice(bar + 1, bars[index + 1]);
    const from = bar + 1 + (cell.length - cell.trimStart().length);
    return cell.trim() ? { from, to: from + cell.trim().length } : { from: bar + 2, to: bar + 2 };
  });
}

/** Select the next cell of a table; after the last cell, a new row begins. */
const moveCell =
  (step: 1 | -1): StateCommand =>
  ({ state, dispatch }) => {
    const { head } = state.selection.main;
    let line = state.doc.lineAt(head);
    if (!ROW.test(line.text)) return false;
    const here = cellsOf(line.text);
    const found = here.findIndex(({ to }) => head - line.from <= to);
    let cell = here[(found < 0 ? here.length - 1 : found) + step];
    while (cell === undefined) {
      const number = line.number + step;
      const next = number > 0 && number <= state.doc.lines ? state.doc.line(number) : null;
      if (!next || !ROW.test(next.text)) {
        if (step < 0) return true;
        const row = `\n|${"  |".repeat(here.length)}`;
        dispatch(
          state.update({
            changes: { from: line.to, insert: row },
            selection: { anchor: line.to + 3 },
            scrollIntoView: true,
            userEvent: "input",
          }),
        );
        return true;
      }
      line = next;
      if (!RULE.test(line.text)) cell = cellsOf(line.text).at(step > 0 ? 0 : -1);
    }
    const selection = { anchor: line.from + cell.from, head: line.from + cell.to };
    dispatch(state.update({ selection, scrollIntoView: true, userEvent: "select" }));
    return true;
  };

/** Refer to a new footnote at the cursor, and write it at the end of the text. */
export const insertFootnote: StateCommand = ({ state, dispatch }) => {
  const text = state.doc.toString();
  const used = [...text.matchAll(/\[\^(\d{1,6})\]/g)].map(([, number]) => Number(number));
  const name = `[^${Math.max(0, ...used) + 1}]`;
  const { to } = state.selection.main;
  const last = text.slice(text.trimEnd().lastIndexOf("\n") + 1);
  const gap = /^\[\^[^\]\s]+\]:/.test(last) ? "\n" : "\n\n";
  const note = `${gap}${name}: `;
  const end = Math.max(to, text.trimEnd().length);
  dispatch(
    state.update({
      changes: [
        { from: to, insert: name },
        { from: end, to: state.doc.length, insert: note },
      ],
      selection: { anchor: end + name.length + note.length },
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
  { key: "Tab", run: moveCell(1), shift: moveCell(-1) },
  { key: "Tab", run: indentMore, shift: indentLess },
];
