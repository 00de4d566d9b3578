import assert from "node:assert/strict";
import { test } from "node:test";
import { EditorSelection, EditorState, type StateCommand } from "@codemirror/state";
import {
  continueList,
  insertFootnote,
  insertTable,
  toggleBold,
  toggleBullets,
  toggleCode,
  toggleHeading,
  writingKeys,
} from "./commands.ts";

/** `¦` marks the cursor; two of them mark a selection. */
function stateOf(marked: string): EditorState {
  const [before = "", inside = "", after] = marked.split("¦");
  const doc = before + inside + (after ?? "");
  const head = after === undefined ? before.length : before.length + inside.length;
  return EditorState.create({
    doc,
    selection: EditorSelection.single(before.length, head),
    extensions: EditorState.allowMultipleSelections.of(true),
  });
}

function run(command: StateCommand, marked: string): string {
  let state = stateOf(marked);
  command({ state, dispatch: (transaction) => (state = transaction.state) });
  const text = state.doc.toString();
  const { from, to } = state.selection.main;
  const inside = from === to ? "" : `${text.slice(from, to)}¦`;
  return `${text.slice(0, from)}¦${inside}${text.slice(to)}`;
}

const keyed = (key: string, isShifted = false): StateCommand => {
  const bound = writingKeys.filter((binding) => binding.key === key);
  return (target) =>
    bound.some(({ run: plain, shift }) => {
      const command = (isShifted ? shift : plain) as StateCommand | undefined;
      return command?.(target) ?? false;
    });
};

test("a mark at the beginning of a line leaves the cursor after it", () => {
  assert.equal(run(toggleHeading(2), "One\n¦"), "One\n## ¦");
  assert.equal(run(toggleBullets, "¦Words"), "- ¦Words");
  assert.equal(run(toggleBullets, "- ¦Words"), "¦Words");
});

test("marks around words keep the words selected, and an empty pair encloses the cursor", () => {
  assert.equal(run(toggleBold, "a ¦bold¦ word"), "a **¦bold¦** word");
  assert.equal(run(toggleBold, "a **¦bold¦** word"), "a ¦bold¦ word");
  assert.equal(run(toggleBold, "¦"), "**¦**");
});

test("code of several lines gets a fence longer than any in it, and loses it again", () => {
  assert.equal(run(toggleCode, "a ¦word¦"), "a `¦word¦`");
  assert.equal(run(toggleCode, "¦one\ntwo¦"), "```\n¦one\ntwo¦\n```");
  assert.equal(run(toggleCode, "```\n¦one\ntwo¦\n```"), "¦one\ntwo¦");
  assert.equal(run(toggleCode, "¦```\nx\n```¦"), "````\n¦```\nx\n```¦\n````");
});

test("Enter twice ends a list with a blank line", () => {
  assert.equal(run(continueList, "- one¦"), "- one\n- ¦");
  assert.equal(run(continueList, "- one\n- ¦"), "- one\n\n¦");
  assert.equal(run(continueList, "2. two\n3. ¦"), "2. two\n\n¦");
  assert.equal(run(continueList, "> said\n> ¦"), "> said\n\n¦");
  assert.equal(run(continueList, "- one\n\n- ¦"), "- one\n\n¦");
});

test("Enter in an empty inner item moves it out one level", () => {
  assert.equal(run(continueList, "- one\n  - two\n  - ¦"), "- one\n  - two\n- ¦");
  assert.equal(run(continueList, "1. one\n   - two\n   - ¦"), "1. one\n   - two\n2. ¦");
});

test("a table has lines of its own, and its first heading is selected", () => {
  const rows = "| ¦Column 1¦ | Column 2 |\n| --- | --- |\n|  |  |\n";
  assert.equal(run(insertTable("Column"), "Words¦"), `Words\n\n${rows}`);
  assert.equal(run(insertTable("Column"), "Words\n¦"), `Words\n\n${rows}`);
  assert.equal(run(insertTable("Column"), "¦"), rows);
});

test("Tab goes from cell to cell, past the rule, and begins a new row at the end", () => {
  const next = keyed("Tab");
  assert.equal(run(next, "| ¦a | b |\n| - | - |\n| c |  |"), "| a | ¦b¦ |\n| - | - |\n| c |  |");
  assert.equal(run(next, "| a | b¦ |\n| - | - |\n| c |  |"), "| a | b |\n| - | - |\n| ¦c¦ |  |");
  assert.equal(run(next, "| a \\| b¦ | c |"), "| a \\| b | ¦c¦ |");
  assert.equal(run(next, "| a | b¦ |"), "| a | b |\n| ¦ |  |");
  assert.equal(
    run(keyed("Tab", true), "| a | b |\n| - | - |\n| ¦c |"),
    "| a | ¦b¦ |\n| - | - |\n| c |",
  );
});

test("a footnote is numbered, and written at the end of the text", () => {
  assert.equal(run(insertFootnote, "One¦ two.\n"), "One[^1] two.\n\n[^1]: ¦");
  assert.equal(
    run(insertFootnote, "One[^1] two¦.\n\n[^1]: Note."),
    "One[^1] two[^2].\n\n[^1]: Note.\n[^2]: ¦",
  );
});
