import assert from "node:assert/strict";
import { test } from "node:test";
import { coveredMargins, keyboardHeight } from "./visible-caret.ts";

const PAGE = { offsetTop: 0, height: 800, scale: 1 };

test("the bars above and below the text are margins", () => {
  assert.deepEqual(coveredMargins(110, 750, PAGE), { top: 122, bottom: 62 });
  assert.deepEqual(coveredMargins(null, null, PAGE), { top: 12, bottom: 12 });
});

test("a bar that has scrolled out of view covers nothing", () => {
  assert.deepEqual(coveredMargins(-40, 900, PAGE), { top: 12, bottom: 12 });
});

test("a bar behind the keyboard covers nothing: the keyboard's upper edge is the limit", () => {
  const typing = { offsetTop: 0, height: 460, scale: 1 };
  assert.equal(keyboardHeight(800, typing), 340);
  assert.deepEqual(coveredMargins(110, 410, typing), { top: 122, bottom: 62 });
  assert.deepEqual(coveredMargins(110, 750, typing), { top: 122, bottom: 12 });
});

test("no keyboard is assumed on a page that is zoomed in", () => {
  assert.equal(keyboardHeight(800, { offsetTop: 200, height: 400, scale: 2 }), 0);
});
