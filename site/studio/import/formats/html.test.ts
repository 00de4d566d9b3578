import "../../../page/page-double.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { htmlToMarkdown, lossesOf, newHtmlDraft } from "./html.ts";
import { Unreadable } from "./limits.ts";

const convert = (html: string): string => htmlToMarkdown(html, newHtmlDraft(null));

test("headings, lists, code, quotes, tables and marks become Markdown", () => {
  const html = `<h2>Two *stars*</h2><p>One <b>bold</b>, <i>italic</i>, <del>gone</del>, <code>x</code></p>
    <ul><li>a<ul><li>b</li></ul></li></ul><blockquote><p>q</p></blockquote>
    <pre><code class="language-js">a();\n\nb();</code></pre>
    <table><tr><th>h</th></tr><tr><td>1|2</td></tr></table>`;
  assert.equal(
    convert(html),
    [
      "## Two \\*stars\\*",
      "One **bold**, *italic*, ~~gone~~, `x`",
      "- a\n  - b",
      "> q",
      "```js\na();\n\nb();\n```",
      "| h |\n| - |\n| 1\\|2 |",
    ].join("\n\n"),
  );
});

test("scripts, styles and forms vanish, and links that run scripts become words", () => {
  const html = `<p onclick="x()">a<script>alert(1)</script><style>b{}</style>
    <a href="javascript:alert(1)">c</a> <a href="JAVA\nSCRIPT:alert(1)">d</a>
    <a href="data:text/html,x">e</a><form><input value="f"></form></p>`;
  const text = convert(html);
  assert.doesNotMatch(text, /alert|script:|data:|onclick|input/i);
  assert.match(text, /a\s+c d\s+e/);
});

test("HTML that is shown as text stays escaped", () => {
  assert.equal(convert("<p>&lt;script&gt; &amp; &lt;!--more--&gt;</p>").includes("\n"), false);
  assert.match(convert("<p>&lt;b&gt;</p>"), /^\\<b>$/);
});

test("embeds become links, drawings are left out, and both are reported", () => {
  const draft = newHtmlDraft(null);
  const html = `<iframe src="https://www.youtube.com/embed/abc"></iframe><svg><script>x</script></svg>
    <img src="https://a.example/b.png" alt="B"><img src="/c.png" alt="C">`;
  const text = htmlToMarkdown(html, draft);
  assert.match(text, /https:\/\/www\.youtube\.com\/watch\?v=abc/);
  assert.match(text, /!\[B\]\(https:\/\/a\.example\/b\.png\)/);
  assert.deepEqual([...draft.linkedPictures], ["https://a.example/b.png"]);
  assert.deepEqual(lossesOf(draft), [
    "1 embed became a link.",
    "1 drawing (SVG) left out.",
    "1 picture not found in the files: choose the pictures together with the posts.",
  ]);
});

test("deeply nested elements are flattened, and their words stay", () => {
  const deep = `${"<div><b>".repeat(200)}word${"</b></div>".repeat(200)}`;
  assert.match(convert(deep), /word/);
  assert.throws(() => convert("<i>".repeat(3000)), Unreadable);
});

test("a text with too many elements is refused", () => {
  assert.throws(() => convert("<br>".repeat(250_000)), Unreadable);
});
