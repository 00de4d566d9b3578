import assert from "node:assert/strict";
import test from "node:test";
import { EditorState } from "@codemirror/state";
import { markdown } from "./markdown.ts";
import { endOpeningAt } from "./opening-line.ts";

/** The text after ending the opening at `|`. */
function ended(text: string): string | null {
  const at = text.indexOf("|");
  const doc = text.replace("|", "");
  const state = EditorState.create({ doc, extensions: [markdown] });
  const spec = endOpeningAt(state, at);
  return spec && state.update(spec).state.doc.toString();
}

test("the line is put below the block with the cursor", () => {
  const cases: [string, string][] = [
    ["on|e\n\ntwo", "one\n\n<!--more-->\n\ntwo"],
    ["o|ne\nmore\n\ntwo", "one\nmore\n\n<!--more-->\n\ntwo"],
    ["one\n\ntwo|", "one\n\ntwo\n\n<!--more-->\n\n"],
    ["one\n|\ntwo", "one\n<!--more-->\n\ntwo"],
    ["- o|ne\n- two\n\nthree", "- one\n- two\n\n<!--more-->\n\nthree"],
    ["> o|ne\n> two\n\nthree", "> one\n> two\n\n<!--more-->\n\nthree"],
    ["```\no|ne\n\ntwo\n```\nthree", "```\none\n\ntwo\n```\n\n<!--more-->\n\nthree"],
    ["# o|ne\ntwo", "# one\n\n<!--more-->\n\ntwo"],
  ];
  for (const [before, after] of cases) assert.equal(ended(before), after, before);
});

test("a text has only one opening line, which is moved", () => {
  const cases: [string, string][] = [
    ["one\n\n<!--more-->\n\nt|wo", "one\n\ntwo\n\n<!--more-->\n\n"],
    ["o|ne\n\ntwo\n\n<!--more-->\n\nthree", "one\n\n<!--more-->\n\ntwo\n\nthree"],
    ["o|ne\n\ntwo\n\n<!--more-->", "one\n\n<!--more-->\n\ntwo\n"],
  ];
  for (const [before, after] of cases) assert.equal(ended(before), after, before);
});

test("an opening line that is already in the right position stays", () => {
  assert.equal(ended("one\n\n<!--mo|re-->\n\ntwo"), null);
});
