import assert from "node:assert/strict";
import { test } from "node:test";
import type { Address } from "imprint-press";
import type { Outcome } from "../../../chain/sent-step.ts";
import { standInForPage } from "../../../page/page-double.ts";
import type { Effect, ItemFacts, Order, OrderState, Result, Wish } from "./reducer.ts";

standInForPage({ chain: { id: 31337, coin: { symbol: "ETH" } }, features: [] });
const { newOrder, reduce, totalOf } = await import("./reducer.ts");

const ANN: Address = "0x00000000000000000000000000000000000000a1";
const BOB: Address = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const AUTHOR: Address = "0x00000000000000000000000000000000000000f6";
const BUYER = { address: ANN, name: "Test Wallet", isSilent: false };
const ITEMS = [
  { id: "1", title: "One", price: 5n },
  { id: "2", title: "Two", price: 7n },
];
const FACTS: ItemFacts[] = [
  { price: 5n, author: AUTHOR, isHeld: false },
  { price: 7n, author: AUTHOR, isHeld: false },
];

/** Stands in for the page: collects the effects, and reports their results. */
class Play {
  effects: Effect[] = [];
  constructor(public state: OrderState) {}

  ask(wish: Wish): this {
    return this.go(reduce(this.state, { type: "clicked", wish }));
  }

  tell(result: Result, turn = this.state.turn): this {
    return this.go(reduce(this.state, { ...result, turn }));
  }

  /** Order the items, up to the point at which the prices are read. */
  prepare(receiver = "", kept: Order | null = null): this {
    return this.ask({ kind: "order", receiver })
      .tell({ type: "connected", buyer: BUYER })
      .tell({ type: "locked", kept });
  }

  pay(receiver = ""): this {
    return this.prepare(receiver).tell({ type: "prepared", facts: FACTS });
  }

  settle(outcome: Outcome): this {
    return this.tell({ type: "settled", outcome });
  }

  get last(): string | undefined {
    return this.effects.at(-1)?.type;
  }

  get note(): string | null {
    return this.state.shown.kind === "form" ? this.state.shown.note : null;
  }

  private go([state, effects]: readonly [OrderState, readonly Effect[]]): this {
    this.state = state;
    this.effects = [...effects];
    return this;
  }
}

const play = (isGift = false) => new Play(newOrder(isGift ? ITEMS.slice(0, 1) : ITEMS, isGift));

const orderOf = ({ state }: Play): Order => {
  assert.equal(state.phase.kind, "paying");
  return state.phase.kind === "paying" ? state.phase.order : assert.fail();
};

test("several posts are bought in one payment, for the buyer", () => {
  const order = orderOf(play().pay());
  assert.deepEqual([order.account, order.receiver, totalOf(order.posts)], [ANN, ANN, 12n]);
  assert.deepEqual(
    order.posts.map(({ id, price }) => [id, price]),
    [
      ["1", "5"],
      ["2", "7"],
    ],
  );
});

test("a gift goes to another receiver, whose address is checked", () => {
  const gift = play(true);
  for (const mistake of ["", "bob", BOB.slice(0, -1), BOB.replace("C44C", "c44C"), `${BOB}0`]) {
    gift.ask({ kind: "order", receiver: mistake });
    assert.deepEqual([gift.effects, gift.state.phase.kind], [[], "idle"], mistake);
    assert.ok(gift.note, mistake);
  }
  gift.prepare(` ${BOB} `);
  assert.deepEqual(gift.effects, [{ type: "prepare", buyer: BUYER, receiver: BOB }]);
  assert.equal(orderOf(gift.tell({ type: "prepared", facts: FACTS })).receiver, BOB);
});

test("an address without capital letters has no checksum to compare", () => {
  assert.equal(play(true).ask({ kind: "order", receiver: BOB.toLowerCase() }).last, "connect");
});

test("a changed price is shown before anything is paid", () => {
  const dearer = play().prepare();
  dearer.tell({ type: "prepared", facts: FACTS.map((each) => ({ ...each, price: 9n })) });
  assert.match(dearer.note ?? "", /prices have changed/);
  assert.deepEqual([dearer.last, totalOf(dearer.state.items)], ["unlock", 18n]);
});

test("posts that the receiver holds or wrote are taken out before anything is paid", () => {
  for (const each of [{ isHeld: true }, { author: BOB.toLowerCase() as Address }]) {
    const order = play().prepare(BOB);
    const facts = FACTS.map((known, place) => (place === 0 ? { ...known, ...each } : known));
    order.tell({ type: "prepared", facts });
    assert.deepEqual([order.state.items, order.last], [ITEMS.slice(1), "unlock"]);
    assert.match(order.note ?? "", /already read/);
  }
});

test("nothing is paid for an order without posts", () => {
  assert.deepEqual(new Play(newOrder([], false)).ask({ kind: "order", receiver: "" }).effects, []);
});

test("a post can be taken out of the cart, and the last one leaves nothing to buy", () => {
  const order = play().ask({ kind: "remove", id: "1", receiver: BOB });
  assert.deepEqual([order.state.items, order.state.receiver], [ITEMS.slice(1), BOB]);
  assert.deepEqual([order.effects, order.note], [[{ type: "drop", posts: ["1"] }], null]);
  assert.match(order.ask({ kind: "remove", id: "2", receiver: "" }).note ?? "", /nothing left/);
  const paying = play().pay();
  assert.deepEqual(paying.ask({ kind: "remove", id: "1", receiver: "" }).effects, []);
});

test("every step is stored before the next one", () => {
  const order = play().pay();
  order.tell({ type: "moved", event: { type: "asked", nonce: 4 } });
  assert.deepEqual(order.effects, [{ type: "keep", account: ANN, order: orderOf(order) }]);
  assert.deepEqual(orderOf(order).asked, { nonce: 4 });
  order.tell({ type: "moved", event: { type: "sent", transaction: "0x01" } });
  assert.equal(orderOf(order).step, "mined");
});

test("an order is stored only while it may have been paid", () => {
  const asked = play().pay();
  asked.tell({ type: "moved", event: { type: "asked", nonce: 4 } });
  asked.tell({ type: "moved", event: { type: "declined" } });
  assert.deepEqual(asked.effects, [{ type: "keep", account: ANN, order: null }]);
});

test("a finished order is forgotten, and its posts leave the cart", () => {
  const done = play().pay().settle({ kind: "done" });
  assert.equal(done.state.shown.kind, "done");
  assert.deepEqual(done.effects, [
    { type: "keep", account: ANN, order: null },
    { type: "drop", posts: ["1", "2"] },
    { type: "unlock" },
  ]);
});

test("a post that was given away stays in the buyer's own cart", () => {
  const dropsOf = (order: Play) =>
    order.settle({ kind: "done" }).effects.filter(({ type }) => type === "drop");
  const kept = orderOf(play(true).pay(BOB));
  assert.deepEqual(dropsOf(play(true).pay(BOB)), []);
  assert.deepEqual(dropsOf(play().prepare("", { ...kept, asked: { nonce: 4 } })), []);
  assert.deepEqual(dropsOf(play(true).pay(ANN)), [{ type: "drop", posts: ["1"] }]);
  assert.deepEqual(dropsOf(play().pay(BOB)), [{ type: "drop", posts: ["1", "2"] }]);
});

test("a gift that is paid again is still a gift", () => {
  const doubted: Order = { ...orderOf(play(true).pay(BOB)), asked: { nonce: 4 } };
  const again = play().ask({ kind: "again", doubted });
  again.tell({ type: "connected", buyer: BUYER }).tell({ type: "locked", kept: doubted });
  again.tell({ type: "prepared", facts: FACTS });
  assert.deepEqual([again.state.isGift, again.state.items], [true, ITEMS.slice(0, 1)]);
});

test("an order that may have been paid is continued, not paid again", () => {
  const kept: Order = { ...orderOf(play().pay(BOB)), asked: { nonce: 4 } };
  const next = play().prepare("", kept);
  assert.deepEqual([next.last, orderOf(next)], ["pay", kept]);
  next.settle({ kind: "doubt", doubt: "lost" });
  assert.deepEqual([next.state.shown.kind, next.effects], ["doubt", [{ type: "unlock" }]]);
});

test("continuing without an unfinished order of the account shows the form, and pays nothing", () => {
  const next = play().ask({ kind: "continue" }).tell({ type: "connected", buyer: BUYER });
  next.tell({ type: "locked", kept: null });
  assert.deepEqual([next.state.shown.kind, next.effects], ["form", [{ type: "unlock" }]]);
  assert.match(next.note ?? "", /no unfinished payment/);
  const failed = play().prepare();
  const failure = { sentence: "No node.", action: null, isCancelled: false, reason: null } as const;
  failed.tell({ type: "failed", failure });
  failed.ask({ kind: "continue" }).tell({ type: "connected", buyer: BUYER });
  assert.equal(failed.tell({ type: "locked", kept: null }).last, "prepare");
});

test("nothing is paid again unless the buyer says so and has seen the current prices", () => {
  const kept: Order = { ...orderOf(play().pay(BOB)), asked: { nonce: 4 } };
  const again = new Play(newOrder([], false)).ask({ kind: "continue" });
  again.tell({ type: "connected", buyer: BUYER }).tell({ type: "locked", kept });
  again.settle({ kind: "doubt", doubt: "lost" }).ask({ kind: "again", doubted: kept });
  again.tell({ type: "connected", buyer: BUYER }).tell({ type: "locked", kept });
  assert.deepEqual(again.effects, [
    { type: "keep", account: ANN, order: null },
    { type: "prepare", buyer: BUYER, receiver: BOB },
  ]);
  again.tell({ type: "prepared", facts: FACTS });
  assert.deepEqual([again.state.items, again.state.receiver, again.last], [ITEMS, BOB, "unlock"]);
  assert.equal(orderOf(again.pay(BOB)).asked, null);
});

test("only the payment that the buyer was told about is paid again", () => {
  const doubted: Order = { ...orderOf(play().pay(BOB)), asked: { nonce: 4 } };
  const kept: Order = { ...doubted, asked: { nonce: 5 } };
  const other = play().ask({ kind: "again", doubted });
  other.tell({ type: "connected", buyer: BUYER }).tell({ type: "locked", kept });
  assert.deepEqual([other.last, orderOf(other)], ["pay", kept]);
  const gone = play().ask({ kind: "again", doubted });
  gone.tell({ type: "connected", buyer: BUYER }).tell({ type: "locked", kept: null });
  assert.deepEqual(gone.effects, [{ type: "prepare", buyer: BUYER, receiver: BOB }]);
  gone.tell({ type: "prepared", facts: FACTS.map((each) => ({ ...each, isHeld: true })) });
  assert.deepEqual([gone.state.items, gone.last], [[], "unlock"]);
});

test("a reverted or refused payment ends the order, and the reason is shown", () => {
  const outcomes: Outcome[] = [{ kind: "reverted" }, { kind: "refused", sentence: "No." }];
  for (const outcome of outcomes) {
    const over = play().pay().settle(outcome);
    assert.equal(over.state.shown.kind, "failure");
    assert.deepEqual(over.effects[0], { type: "keep", account: ANN, order: null });
  }
});

test("a buyer who declines sees the form again, and other failures can be retried", () => {
  const failure = { sentence: "No.", action: null, isCancelled: true, reason: null } as const;
  const declined = play().pay().tell({ type: "failed", failure });
  assert.deepEqual([declined.note, declined.last], ["No.", "unlock"]);
  const failed = play()
    .pay()
    .tell({ type: "failed", failure: { ...failure, isCancelled: false } });
  assert.equal(failed.state.shown.kind, "failure");
  assert.equal(failed.ask({ kind: "continue" }).last, "connect");
});

test("clicks during an order and results of an earlier turn change nothing", () => {
  const order = play().pay();
  const before = order.state;
  assert.equal(order.ask({ kind: "order", receiver: "" }).state, before);
  assert.equal(order.tell({ type: "lock-taken" }, before.turn - 1).state, before);
});

test("an order that another tab is paying is not paid in this tab", () => {
  const order = play().ask({ kind: "order", receiver: "" });
  order.tell({ type: "connected", buyer: BUYER }).tell({ type: "lock-taken" });
  assert.deepEqual([order.state.shown.kind, order.state.phase.kind], ["another-tab", "idle"]);
});
