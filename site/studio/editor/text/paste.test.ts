import assert from "node:assert/strict";
import { test } from "node:test";
import { history, undo } from "@codemirror/commands";
import { EditorState, type Transaction } from "@codemirror/state";
import { markdown } from "./markdown.ts";
import { isCode, isRich, linkOver, pastedTitle, titleChange, withMarks } from "./paste.ts";

const selecting = (doc: string, anchor: number, head: number): EditorState =>
  EditorState.create({ doc, selection: { anchor, head }, extensions: markdown });

test("an address pasted over words becomes a link, with the cursor after it", () => {
  const state = selecting("See the docs now", 4, 12);
  const link = linkOver(state, " https://a.example/b?c=d#e \n");
  assert.ok(link);
  const next = state.update(link).state;
  assert.equal(next.doc.toString(), "See [the docs](https://a.example/b?c=d#e) now");
  assert.equal(next.selection.main.head, "See [the docs](https://a.example/b?c=d#e)".length);
});

test("only an address pasted over words becomes a link", () => {
  const words = selecting("See the docs", 4, 12);
  for (const pasted of ["words", "javascript:alert(1)", "https://a.example b", "https://a.(b)", ""])
    assert.equal(linkOver(words, pasted), null, pasted);
  const address = "https://a.example";
  assert.equal(linkOver(selecting("See", 1, 1), address), null);
  assert.equal(linkOver(selecting("one\ntwo", 0, 7), address), null);
  assert.equal(linkOver(selecting("https://b.example", 0, 17), address), null);
  assert.equal(linkOver(selecting("`the code`", 1, 9), address), null);
});

test("rich text has marks, lists, links or tables; coloured code has none", () => {
  assert.ok(isRich("<p>a <b>bold</b> word</p>", ["text/html"]));
  assert.ok(isRich('<a href="https://a.example">a</a>', ["text/html"]));
  assert.ok(!isRich("<meta charset='utf-8'><span>words</span><br>", ["text/html"]));
  assert.ok(!isRich("<div><b>const</b></div>", ["text/html", "vscode-editor-data"]));
  assert.ok(!isRich(`<b>${"x".repeat(1_000_001)}</b>`, ["text/html"]));
});

test("inline code and fenced code are recognised", () => {
  assert.ok(isCode(selecting("a `b` c", 4, 4)));
  assert.ok(isCode(selecting("```\nb\n```", 5, 5)));
  assert.ok(!isCode(selecting("a `b` c", 7, 7)));
});

test("styles of word processors become marks", () => {
  const docs =
    '<b style="font-weight:normal;" id="docs-internal-guid-1"><p><span style="font-weight:400;">a </span><span style="font-weight:700;font-style:italic">b</span></p></b>';
  assert.equal(
    withMarks(docs),
    '<span><p><span style="font-weight:400;">a </span><em><strong>b</strong></em></p></b>',
  );
});

/** Replace all of a text, as pasting does, and return the new text and the changes of the title. */
function pasteAll(doc: string, pasted: string, isUntitled = true, userEvent = "input.paste") {
  const extensions = [history(), pastedTitle(() => isUntitled)];
  const state = EditorState.create({ doc, extensions });
  const done = state.update({ changes: { from: 0, to: doc.length, insert: pasted }, userEvent });
  return { state: done.state, text: done.newDoc.toString(), titles: titlesOf(done) };
}

const titlesOf = ({ effects }: Transaction): unknown[] =>
  effects.filter((effect) => effect.is(titleChange)).map(({ value }) => value);

test("the heading of a text that is pasted as a whole becomes its title", () => {
  for (const [pasted, text] of [
    ["# On glue\n\nIt holds.", "It holds."],
    ["\n\n# On glue\nIt holds.\n", "It holds.\n"],
    ["# On glue", ""],
  ] as const) {
    const found = pasteAll("", pasted);
    assert.deepEqual([found.text, found.titles], [text, [{ from: "", to: "On glue" }]]);
  }
  assert.equal(pasteAll("all of this", "# On glue\n\nIt holds.").text, "It holds.");
});

test("one undo reverts both a pasted text and its title", () => {
  const { state } = pasteAll("", "# On glue\n\nIt holds.");
  const undone: Transaction[] = [];
  assert.ok(undo({ state, dispatch: (transaction) => undone.push(transaction) }));
  assert.equal(undone[0]?.newDoc.toString(), "");
  assert.deepEqual(undone.flatMap(titlesOf), [{ from: "On glue", to: "" }]);
});

test("a heading stays in a text that has a title, is typed, or is pasted in part", () => {
  const pasted = "# On glue\n\nIt holds.";
  assert.equal(pasteAll("", pasted, false).text, pasted);
  assert.equal(pasteAll("", pasted, true, "input.type").text, pasted);
  assert.equal(pasteAll("", "## Why\n\nIt holds.").text, "## Why\n\nIt holds.");
  const state = EditorState.create({ doc: "Before.", extensions: pastedTitle(() => true) });
  const changes = { from: 0, insert: "# On glue\n\n" };
  const part = state.update({ changes, userEvent: "input.paste" });
  assert.equal(part.newDoc.toString(), "# On glue\n\nBefore.");
});
