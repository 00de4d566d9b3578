import assert from "node:assert/strict";
import { test } from "node:test";
import type { Provider } from "imprint-press";
import { standInForPage } from "../page/page-double.ts";

standInForPage({ chain: { id: 31337, marketplace: "0x01" } });
const { decodeEntry, findEntry, readPrice } = await import("./marketplace.ts");

const AUTHOR = "0x00000000000000000000000000000000000000ab";
const word = (value: bigint): string => value.toString(16).padStart(64, "0");

/** The values of `getPostInfo`: the author, four texts as offsets, the price, and the texts. */
const values = (price: bigint): string[] =>
  [0xabn, 192n, 224n, 256n, 288n, price, 0n, 0n, 0n, 0n].map(word);
const struct = (price: bigint): string => `0x${[word(32n), ...values(price)].join("")}`;

/** A marketplace that returns these values in turn. */
function returning(...texts: string[]) {
  const asked: string[] = [];
  const provider: Provider = {
    async request({ params }) {
      const [{ data }] = params as [{ data: string }];
      asked.push(data);
      return texts[asked.length - 1];
    },
  };
  return { provider, asked };
}

test("the author is the first value that the marketplace returns, the price the sixth", () => {
  const entry = { author: AUTHOR, price: 10n ** 16n };
  assert.deepEqual(decodeEntry(struct(10n ** 16n)), entry);
  assert.deepEqual(decodeEntry(`0x${values(10n ** 16n).join("")}`), entry);
});

test("a result that is too short means that the marketplace does not know the post", () => {
  for (const returned of ["0x", `0x${word(1n)}`, `0x${values(7n).join("").slice(0, 380)}`])
    assert.throws(() => decodeEntry(returned), RangeError);
});

test("a price is read by the id of the post", async () => {
  const { provider, asked } = returning(struct(7n));
  assert.equal(await readPrice(provider, "258"), 7n);
  assert.deepEqual(asked, [`0xeba1e3b3${word(258n)}`]);
});

test("a cid is resolved to its post and author", async () => {
  const { provider, asked } = returning(`0x${word(9n)}`, struct(7n));
  assert.deepEqual(await findEntry(provider, "bafy"), { postId: "9", author: AUTHOR, price: 7n });
  const text = word(32n) + word(4n) + "62616679".padEnd(64, "0");
  assert.deepEqual(asked, [`0xe8be2748${text}`, `0xeba1e3b3${word(9n)}`]);
});

test("an unpublished cid has no post", async () => {
  assert.equal(await findEntry(returning(`0x${word(0n)}`).provider, "bafy"), null);
});
