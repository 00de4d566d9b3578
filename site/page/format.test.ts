import assert from "node:assert/strict";
import { test } from "node:test";
import { standInForPage } from "./page-double.ts";

standInForPage({ chain: { coin: { symbol: "XDAI", decimals: 18 } } });
const { balance, coin, fileSize, moment, short } = await import("./format.ts");

test("a price is formatted exactly", () =>
  assert.equal(coin("10000000000000001"), "0.010000000000000001 XDAI"));

test("a balance never shows more than there is", () => {
  assert.equal(balance(9_999_999_999_999_999_999_999n), "9,999.9999 XDAI");
  assert.equal(balance(1n), "under 0.0001 XDAI");
  assert.equal(balance(0n), "0 XDAI");
});

test("a long address is shortened to its two ends", () => {
  assert.equal(short("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"), "0xf39f…2266");
});

const { count } = await import("./words.ts");

test("a count of one has the singular", () => {
  assert.deepEqual([count(1, "post"), count(1200, "post")], ["1 post", "1,200 posts"]);
});

test("a timestamp has its date and time", () => {
  assert.equal(moment(new Date(2026, 10, 16, 21, 4).getTime()), "16 Nov 2026, 21:04");
});

test("a size is rounded for reading", () => {
  assert.deepEqual([0, 1, 380 * 1024, 4 * 1024 * 1024, 4.25 * 1024 * 1024].map(fileSize), [
    "0 KB",
    "1 KB",
    "380 KB",
    "4 MB",
    "4.3 MB",
  ]);
});
