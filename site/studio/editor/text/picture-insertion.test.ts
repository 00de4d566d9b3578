import assert from "node:assert/strict";
import { test } from "node:test";
import { EditorState } from "@codemirror/state";
import { insertBelow, insertSelected, isUntouched } from "./picture-insertion.ts";

const PICTURE = "data:image/webp;base64,AA";

const stateOf = (doc: string, anchor: number): EditorState =>
  EditorState.create({ doc, selection: { anchor } });

test("a picture is inserted below the line of the cursor, and its description is selected", () => {
  const state = stateOf("One\nTwo", 1);
  const next = state.update(insertSelected(state, "A cat", PICTURE)).state;
  assert.equal(next.doc.toString(), `One\n\n![A cat](${PICTURE})\n\nTwo`);
  const { from, to } = next.selection.main;
  assert.equal(next.sliceDoc(from, to), "A cat");
});

test("a picture in an empty line takes that line", () => {
  const state = stateOf("One\n\nTwo", 4);
  const next = state.update(insertSelected(state, "", PICTURE)).state;
  assert.equal(next.doc.toString(), `One\n![Describe this picture](${PICTURE})\n\nTwo`);
});

test("an author who types while a picture is prepared keeps the cursor", () => {
  for (const [doc, at] of [
    ["One\nTwo", 3],
    ["One\n", 4],
  ] as const) {
    const state = stateOf(doc, at);
    const next = state.update(insertBelow(state, "A cat", PICTURE)).state;
    assert.equal(next.selection.main.head, at);
    assert.ok(next.selection.main.empty);
    const typed = next.update(next.replaceSelection(" more")).state;
    assert.ok(
      typed.doc.toString().startsWith(`${doc.slice(0, at)} more\n\n![A cat](${PICTURE})\n`),
    );
  }
});

test("typing and moving the cursor count as touching the text", () => {
  const state = stateOf("One", 3);
  assert.ok(isUntouched(state, state.update({ effects: [] }).state));
  assert.ok(!isUntouched(state, state.update(state.replaceSelection("!")).state));
  assert.ok(!isUntouched(state, state.update({ selection: { anchor: 0 } }).state));
});
