import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { standInForPage } from "../../page/page-double.ts";

const page = standInForPage({ chain: { id: 31337 }, features: [] });
const sent: string[] = [];
Object.assign(globalThis, { dispatchEvent: ({ type }: Event) => sent.push(type) });
const { CART_KEY, dropFromCart, isOrderBegun, keepCart, keepOrder, MAX_IN_CART, readCart, toggle } =
  await import("./store.ts");

const item = (id: number) => ({ id: `${id}`, title: `Post ${id}`, price: "5" });

beforeEach(() => page.memory.clear());

test("a post is added once, and removed by the next click", () => {
  const cart = toggle(toggle([], item(1)), item(2));
  assert.deepEqual(cart, [item(1), item(2)]);
  assert.deepEqual(toggle(cart, item(1)), [item(2)]);
});

test("a full cart takes no more posts", () => {
  const full = Array.from({ length: MAX_IN_CART }, (_, id) => item(id));
  assert.deepEqual(toggle(full, item(99)), full);
  assert.equal(toggle(full, item(0)).length, MAX_IN_CART - 1);
});

test("a cart is stored, and bought posts leave it", () => {
  keepCart([item(1), item(2)]);
  assert.deepEqual(readCart(), [item(1), item(2)]);
  dropFromCart(["1"]);
  assert.deepEqual(readCart(), [item(2)]);
  dropFromCart(["2"]);
  assert.equal(page.memory.has(CART_KEY), false);
});

test("anything that is not a post is ignored when the cart is read", () => {
  for (const kept of [
    "{}",
    "[",
    "null",
    '["x", 1, null, {"id": "x"}, {"id": "1", "price": "-1"}]',
  ]) {
    page.memory.set(CART_KEY, kept);
    assert.deepEqual(readCart(), [], kept);
  }
});

test("a stored order is found, whichever account pays, and the page is told", () => {
  assert.equal(isOrderBegun(), false);
  sent.length = 0;
  keepOrder("0xA1", {});
  assert.equal(isOrderBegun(), true);
  keepOrder("0xa1", null);
  assert.equal(isOrderBegun(), false);
  assert.deepEqual(sent, [CART_KEY, CART_KEY]);
});
