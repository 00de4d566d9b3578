import assert from "node:assert/strict";
import { test } from "node:test";
import { EditorState } from "@codemirror/state";
import {
  describe,
  insertAtCursor,
  insertBelow,
  isUntouched,
  pictureAt,
  pictureOf,
} from "./picture-insertion.ts";

const PICTURE = "data:image/webp;base64,AA";

const stateOf = (doc: string, anchor: number): EditorState =>
  EditorState.create({ doc, selection: { anchor } });

function inserted(doc: string, anchor: number): string {
  const state = stateOf(doc, anchor);
  const next = state.update(insertAtCursor(state, "A cat", PICTURE)).state;
  const { head } = next.selection.main;
  return `${next.sliceDoc(0, head)}¦${next.sliceDoc(head)}`;
}

test("a picture has lines of its own, and the cursor is put after it", () => {
  const picture = `![A cat](${PICTURE})`;
  assert.equal(inserted("One\nTwo", 1), `One\n\n${picture}\n\n¦\nTwo`);
  assert.equal(inserted("One", 3), `One\n\n${picture}\n\n¦`);
  assert.equal(inserted("One\n\nTwo", 4), `One\n\n${picture}\n\n¦\nTwo`);
  assert.equal(inserted("One\n\n\n\nTwo", 5), `One\n\n${picture}\n¦\n\nTwo`);
  assert.equal(inserted("", 0), `${picture}\n\n¦`);
});

test("a picture gets a description and a caption, which cannot break its Markdown", () => {
  const state = stateOf(`One\n\n![](${PICTURE})\n`, 8);
  const found = pictureAt(state, 8);
  assert.ok(found);
  const words = { alt: "A [cat]\nasleep", caption: 'Called "Tom" (2024)' };
  const next = state.update(describe(found, words)).state;
  assert.equal(next.doc.toString(), `One\n\n![A cat asleep](${PICTURE} "Called ”Tom” (2024)")\n`);
  assert.deepEqual(pictureOf(next, PICTURE), {
    from: 5,
    to: next.doc.length - 1,
    source: PICTURE,
    alt: "A cat asleep",
    caption: "Called ”Tom” (2024)",
  });
});

test("the cursor of an author who types while a picture is prepared does not move", () => {
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
