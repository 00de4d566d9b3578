import assert from "node:assert/strict";
import { test } from "node:test";
import {
  countBytes,
  countUndescribed,
  countWords,
  descriptionOf,
  joinTitle,
  readingMinutes,
  splitTitle,
  titleLine,
  titleOf,
} from "./draft-text.ts";

test("the title is the first heading, otherwise the first line with words", () => {
  const cases: [string, string][] = [
    ["Some words\n\n# The *title* #", "The title"],
    ["\n\n- a [link](https://a.example)\nmore", "a link"],
    ["![](data:image/png;base64,AAAA)\n\nAfter a picture", "After a picture"],
    ["---\n\n", ""],
    ["", ""],
    [JSON.stringify({ title: "Earlier", content: { blocks: [] } }), "Earlier"],
  ];
  for (const [content, title] of cases) assert.equal(titleOf(content), title, content);
});

test("words are counted without pictures and addresses, and two ideographs as one word", () => {
  assert.equal(countWords("Don't stop, 2 go-betweens."), 4);
  assert.equal(countWords("![a cat](data:image/png;base64,AAAA) and [b](https://c.example/d)"), 4);
  assert.equal(countWords("日本語 text"), 3);
  assert.equal(readingMinutes(0), 0);
  assert.equal(readingMinutes(231), 2);
});

test("the size of a text is that of its UTF-8", () => {
  for (const text of ["", "abc", "äöü", "日本", "🙂🙂", "a🙂ä日"]) {
    assert.equal(countBytes(text), new TextEncoder().encode(text).length, text);
  }
});

test("a title can be split from a text and joined to it again without a change", () => {
  const cases: [string, string, string][] = [
    ["# A title\n\nWords.", "A title", "Words."],
    ["# A title\nWords.", "A title", "Words."],
    ["# A title", "A title", ""],
    ["# A title\n\n\n\nWords.", "A title", "\n\nWords."],
    ["## Smaller\n\nWords.", "", "## Smaller\n\nWords."],
    ["# \n\nWords.", "", "# \n\nWords."],
    ["Words.\n\n# Later", "", "Words.\n\n# Later"],
    ["", "", ""],
  ];
  for (const [text, title, body] of cases) {
    const split = splitTitle(text);
    assert.deepEqual([split.title, split.body], [title, body], text);
    assert.equal(joinTitle(split), text);
  }
  assert.equal(joinTitle({ ...splitTitle("# Alone"), body: "Words." }), "# Alone\n\nWords.");
  assert.equal(titleLine("  # Two\nlines "), "Two lines");
});

test("a description is the first paragraph in plain words", () => {
  const cases: [string, string][] = [
    [
      "# Title\n\n## Part\n\nIt **holds** [fast](https://a.example).[^1]\n\nMore.",
      "It holds fast.",
    ],
    [
      "![](data:image/png;base64,AAAA)\n\n| a |\n| - |\n\n```\ncode\n\ncode\n```\n\nWords\nhere.",
      "Words here.",
    ],
    ["# Title\n\n<!--more-->\n\nOnly for those who paid.", ""],
    [
      `One sentence of a certain length that ends in the middle of it all. ${"More ".repeat(60)}`,
      "One sentence of a certain length that ends in the middle of it all.",
    ],
    ["", ""],
  ];
  for (const [content, description] of cases) assert.equal(descriptionOf(content), description);
  const long = descriptionOf("word ".repeat(100));
  assert.ok(long.endsWith("word…") && long.length <= 201);
});

test("pictures without a description are counted", () => {
  const data = "data:image/png;base64,AAAA";
  assert.equal(
    countUndescribed(`![](${data} "Caption") ![a](${data}) ![ ](https://a.example/b.png)`),
    2,
  );
});
