import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCoin, parseCoin } from "./coin.js";

for (const [wei, text] of [
  ["0", "0"],
  ["1", "0.000000000000000001"],
  ["10000000000000000", "0.01"],
  ["1500000000000000000", "1.5"],
  ["12000000000000000000", "12"],
] as const) {
  test(`${wei} wei is formatted and parsed as ${text}`, () => {
    assert.equal(formatCoin(wei), text);
    assert.equal(parseCoin(text), BigInt(wei));
  });
}

test("spaces around an amount do not matter", () => {
  assert.equal(parseCoin(" 0.50 "), 5n * 10n ** 17n);
});

for (const text of ["", "1,5", "-1", "1e3", ".5", "1.", "0x1", "١", "0.0000000000000000001"]) {
  test(`${JSON.stringify(text)} is refused with a message for people`, () => {
    assert.throws(() => parseCoin(text), { name: "RangeError", message: /amount.*\.$/ });
  });
}
