import assert from "node:assert/strict";
import { test } from "node:test";
import { diffTexts } from "./diff.ts";

const side = (text: string, other: string, which: "left" | "right") =>
  diffTexts(text, other)
    .flatMap((row) => (row[which] === null ? [] : [row[which].map((each) => each.text).join("")]))
    .join("\n");

test("each side of a comparison has its whole text", () => {
  const one = "# Title\n\nA first line.\nGone.\nEnd";
  const other = "# Title\n\nA second line.\nEnd\nMore";
  assert.equal(side(one, other, "left"), one);
  assert.equal(side(one, other, "right"), other);
});

test("only changed words are marked within their line", () => {
  const [row] = diffTexts("the old house stands", "the new house stands");
  const marked = (pieces: (typeof row & object)["left"]) =>
    pieces?.filter((piece) => piece.isChanged).map((piece) => piece.text);
  assert.deepEqual(marked(row?.left ?? null), ["old"]);
  assert.deepEqual(marked(row?.right ?? null), ["new"]);
});

test("a line that only one text has is shown alone", () => {
  assert.deepEqual(diffTexts("a\nb", "a"), [
    { left: [{ text: "a", isChanged: false }], right: [{ text: "a", isChanged: false }] },
    { left: [{ text: "b", isChanged: true }], right: null },
  ]);
});
