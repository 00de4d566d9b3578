import assert from "node:assert/strict";
import test from "node:test";
import { measureOpening } from "./opening-length.ts";

test("the words above the line are free", () => {
  const cases: [string, number, number][] = [
    ["One two\n\n<!--more-->\n\nthree", 3, 2],
    ["One two\n<!--more-->\nthree\n<!--more-->\nfour", 4, 2],
    ["One\r\n<!--more-->\r\ntwo", 2, 1],
    ["- one\n<!--more-->\ntwo", 2, 1],
    ["one\n   <!--more-->  \ntwo", 2, 1],
  ];
  for (const [content, words, free] of cases)
    assert.deepEqual(measureOpening(content), { words, free }, content);
});

test("nothing is free without a line of its own", () => {
  const cases = [
    "one two",
    "<!--more-->\none",
    "one\n```\n<!--more-->\n```\ntwo",
    "- one\n  <!--more-->\n\ntwo",
    "> one\n> <!--more-->\n\ntwo",
    "one\n\n    <!--more-->\ntwo",
    "one <!--more-->\ntwo",
    "one\n<!-- more -->\ntwo",
    "one\n<div>\n<!--more-->\n</div>",
    '{\n"title": "one",\n\n"content": "two",\n\n"more": "\\n<!--more-->\\n"}',
  ];
  for (const content of cases) assert.equal(measureOpening(content).free, 0, content);
});
