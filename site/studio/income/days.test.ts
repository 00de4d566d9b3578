import assert from "node:assert/strict";
import { test } from "node:test";
import { covers, cutBefore, salesByDay, startOf } from "./days.ts";

const NOW = Date.parse("2026-03-02T00:30:00Z");

test("a period has its days in UTC, including today, the oldest first", () => {
  const days = salesByDay([], 30, NOW);
  assert.equal(days.length, 30);
  assert.equal(days[0]?.day, "2026-02-01");
  assert.equal(days.at(-1)?.day, "2026-03-02");
});

test("a sale belongs to its day in UTC, to the last second", () => {
  const sales = [
    { at: "2026-03-02T00:00:00Z", price: "5" },
    { at: "2026-03-01T23:59:59Z", price: "7" },
    { at: "2026-03-01T00:00:00Z", price: "1" },
  ];
  const [before, today] = salesByDay(sales, 30, NOW).slice(-2);
  assert.deepEqual(today, { day: "2026-03-02", sales: 1, earned: 5n });
  assert.deepEqual(before, { day: "2026-03-01", sales: 2, earned: 8n });
});

test("sums are exact beyond the range of safe integers", () => {
  const price = "900719925474099301";
  const sales = [price, price].map((each) => ({ at: "2026-03-01T10:00:00Z", price: each }));
  assert.equal(salesByDay(sales, 30, NOW).at(-2)?.earned, 2n * BigInt(price));
});

test("all time begins with the oldest sale, and sales before a period are left out", () => {
  const sales = [{ at: "2026-01-15T12:00:00Z", price: "3" }];
  assert.equal(salesByDay(sales, null, NOW)[0]?.day, "2026-01-15");
  assert.ok(salesByDay(sales, 30, NOW).every((day) => day.sales === 0));
});

test("without a sale, all time is today", () => {
  assert.deepEqual(salesByDay([], null, NOW), [{ day: "2026-03-02", sales: 0, earned: 0n }]);
});

test("sales cover a chart if their list is complete or reaches back before the period", () => {
  const within = [{ at: "2026-02-20T00:00:00Z", price: "1" }];
  const before = [...within, { at: "2026-01-31T23:59:59Z", price: "1" }];
  assert.equal(covers(within, false, 30, NOW), false);
  assert.equal(covers(before, false, 30, NOW), true);
  assert.equal(covers(before, false, null, NOW), false);
  assert.equal(covers(within, true, null, NOW), true);
  assert.equal(startOf(null, NOW), null);
});

test("a chart of all time shows where it begins if there are earlier sales", () => {
  const old = [{ at: "2020-01-01T00:00:00Z", price: "1" }];
  assert.equal(cutBefore(old, null, NOW), salesByDay(old, null, NOW)[0]?.day);
  assert.equal(cutBefore(old, 90, NOW), null);
  assert.equal(cutBefore([{ at: "2026-01-01T00:00:00Z", price: "1" }], null, NOW), null);
});
