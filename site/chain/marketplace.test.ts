import assert from "node:assert/strict";
import { test } from "node:test";
import { standInForPage } from "../page/page-double.ts";

standInForPage({ chain: { id: 31337, marketplace: "0x01" } });
const { decodePrice } = await import("./marketplace.ts");

const word = (value: bigint): string => value.toString(16).padStart(64, "0");

/** The values of `getPostInfo`: the author, four texts as offsets, the price, and the texts. */
const values = (price: bigint): string[] =>
  [0xabn, 192n, 224n, 256n, 288n, price, 0n, 0n, 0n, 0n].map(word);

test("the price is the sixth value that the marketplace returns", () => {
  assert.equal(decodePrice(`0x${values(10n ** 16n).join("")}`), 10n ** 16n);
});

test("the price is found in a struct, too", () => {
  assert.equal(decodePrice(`0x${[word(32n), ...values(7n)].join("")}`), 7n);
});

test("a marketplace that returns too little does not know the post", () => {
  for (const returned of ["0x", `0x${word(1n)}`, `0x${values(7n).join("").slice(0, 380)}`])
    assert.throws(() => decodePrice(returned), RangeError);
});
