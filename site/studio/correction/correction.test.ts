import assert from "node:assert/strict";
import { test } from "node:test";
import { joinTitle } from "../store/draft-text.ts";
import {
  advance,
  canSign,
  correctable,
  isNote,
  NOTE_LENGTH,
  openCorrection,
} from "./correction.ts";

const typed = advance(openCorrection("The ink is wet."), { type: "typed", text: "It is dry." });

test("only a changed text can be signed", () => {
  assert.equal(canSign(openCorrection("Text")), false);
  assert.equal(canSign(typed), true);
  assert.equal(canSign(advance(typed, { type: "typed", text: "The ink is wet." })), false);
});

test("a correction cannot be signed again while it is being signed", () => {
  const signing = advance(typed, { type: "sign" });
  assert.equal(canSign(signing), false);
  const failed = advance(signing, { type: "failed", sentence: "The wallet refused." });
  assert.equal(failed.failure, "The wallet refused.");
  assert.equal(failed.text, "It is dry.");
  assert.equal(canSign(failed), true);
});

test("a correction that was left is continued, also if readers see another text by now", () => {
  const left = advance(typed, { type: "noted", note: "Dry." });
  const again = openCorrection("The ink is damp.", left);
  assert.deepEqual(
    [again.shown, again.text, again.note],
    ["The ink is damp.", "It is dry.", "Dry."],
  );
  assert.equal(again.state, "editing");
});

test("a signed text is what readers see", () => {
  const done = advance(advance(typed, { type: "sign" }), { type: "signed" });
  assert.deepEqual([done.shown, done.note, done.state], ["It is dry.", "", "done"]);
  assert.equal(canSign(done), false);
  assert.equal(canSign(advance(done, { type: "typed", text: "It is black." })), true);
});

test("a note is one line of at most 280 code points", () => {
  for (const note of ["", "A typo.", "🖋".repeat(NOTE_LENGTH)]) assert.equal(isNote(note), true);
  for (const note of ["x".repeat(NOTE_LENGTH + 1), "two\nlines", "turned\u202e", "nul\0"])
    assert.equal(isNote(note), false, note);
});

test("a heading that repeats the title of the post cannot be corrected, but stays", () => {
  const repeated = correctable("# The  Ink\n\nIt is wett.", "The ink");
  assert.equal(repeated.body, "It is wett.");
  assert.equal(joinTitle({ ...repeated, body: "It is wet." }), "# The  Ink\n\nIt is wet.");
});

test("any other text can be corrected as a whole", () => {
  for (const text of ["# Another\n\nIt is wett.", "It is wett.", "", "## The ink\nIt is wett."]) {
    const { body, title } = correctable(text, "The ink");
    assert.deepEqual([body, title], [text, ""]);
  }
});
