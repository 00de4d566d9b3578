import "../../page/page-double.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Purchase } from "../../chain/purchase.ts";
import {
  closedGate,
  type Effect,
  type Failure,
  type GateEvent,
  type GateState,
  type Result,
  reduce,
  type Shown,
  type WalletAccount,
  type Wish,
} from "./reducer.ts";

const PRICE = 10n ** 16n;
const ANN: WalletAccount = { address: "0xA1", name: "Test Wallet", isSilent: false };
const BOB: WalletAccount = { address: "0xB2", name: "Test Wallet", isSilent: false };
const AUTHOR: WalletAccount = { address: "0xF6", name: "Test Wallet", isSilent: false };

const ASKED: Purchase = {
  postId: "7",
  account: ANN.address,
  price: PRICE.toString(),
  step: "transaction",
  asked: { nonce: 4 },
  transaction: null,
};
const SENT: Purchase = { ...ASKED, step: "mined", transaction: "0x01" };
const BOUGHT: Purchase = { ...SENT, step: "entitled" };

const failure = (more: Partial<Failure> = {}): Failure => ({
  sentence: "It failed.",
  action: "retry",
  isCancelled: false,
  reason: null,
  ...more,
});
const DECLINED = failure({ sentence: "You declined.", isCancelled: true });
const NOT_ENTITLED = failure({ sentence: "Not held.", reason: "not-entitled", action: null });
const SESSION_ENDED = failure({ sentence: "Ended.", reason: "session-ended", action: "sign-in" });
const ACCOUNT_CHANGED = failure({ sentence: "Changed.", reason: "account-changed" });

/** The gate of a post, and all effects that it requested. */
class Gate {
  state: GateState = closedGate("7", AUTHOR.address.toLowerCase(), PRICE);
  readonly done: Effect[] = [];
  /** The purchases stored in this browser, by account. */
  readonly kept = new Map<string, Purchase>();
  isLocked = false;

  constructor(
    private account: WalletAccount | null = null,
    private session: WalletAccount | null = null,
  ) {}

  get shown(): Shown | null {
    return this.state.shown;
  }

  get last(): Effect | undefined {
    return this.done.at(-1);
  }

  start(wish: Wish | null = null): this {
    return this.dispatch({ type: "started", wish, ...this.presence });
  }

  click(wish: Wish): this {
    return this.dispatch({ type: "clicked", wish });
  }

  /** The wallet switches to another account, or the reader signs in or out. */
  change(account: WalletAccount | null, session: WalletAccount | null = null): this {
    this.account = account;
    this.session = session;
    return this.dispatch({ type: "changed", ...this.presence });
  }

  /** Complete the running effects with these results, one after the other. */
  tell(...results: Result[]): this {
    for (const result of results) this.dispatch({ ...result, turn: this.state.turn });
    return this;
  }

  fail(reason: Failure): this {
    return this.tell({ type: "failed", failure: reason });
  }

  /** How often an effect was requested. */
  count(type: Effect["type"]): number {
    return this.done.filter((effect) => effect.type === type).length;
  }

  dispatch(event: GateEvent): this {
    const [next, effects] = reduce(this.state, event);
    this.state = next;
    for (const effect of effects) {
      this.done.push(effect);
      if (effect.type === "lock") this.isLocked = true;
      if (effect.type === "unlock") this.isLocked = false;
      if (effect.type !== "keep") continue;
      if (effect.purchase) this.kept.set(effect.account, effect.purchase);
      else this.kept.delete(effect.account);
    }
    return this;
  }

  private get presence() {
    return { account: this.account, session: this.session?.address ?? null };
  }
}

const BUY: Wish = { kind: "buy" };
const OPEN: Wish = { kind: "open" };
const text = (reader: WalletAccount): Result => ({
  type: "text",
  html: "<p>",
  reader: reader.address,
});
const asked: Result = { type: "moved", event: { type: "asked", nonce: 4 } };
const declined: Result = { type: "moved", event: { type: "declined" } };
const sent: Result = { type: "moved", event: { type: "sent", transaction: "0x01" } };
const done: Result = { type: "settled", outcome: { kind: "done" } };
const locked = (kept: Purchase | null = null): Result => ({ type: "locked", kept });
const prepared = (price = PRICE, isHeld = false): Result => ({ type: "prepared", price, isHeld });
const doubt = (kind: "lost" | "unknown" | "pending"): Result => ({
  type: "settled",
  outcome: { kind: "doubt", doubt: kind },
});
const looked = (found: "begun" | "held" | "not-held"): Result => ({ type: "looked", found });

/** A reader who has clicked on buying, and whose wallet is being asked to pay. */
function paying(session: WalletAccount | null = null): Gate {
  const gate = new Gate(ANN, session).start(BUY);
  return gate.tell({ type: "connected", buyer: ANN }, locked(), prepared(), asked);
}

/** A page that was reloaded during a purchase. */
function reloaded(kept: Purchase, session: WalletAccount | null = null): Gate {
  const gate = new Gate(ANN, session).start().tell(looked("begun"));
  gate.kept.set(ANN.address, kept);
  return gate.tell(locked(kept));
}

test("a purchase goes from the click to the open text, and leaves nothing stored", () => {
  const gate = paying();
  assert.deepEqual(gate.kept.get(ANN.address), ASKED);
  gate.tell(sent);
  assert.deepEqual(gate.kept.get(ANN.address), SENT);
  gate.tell(done);
  assert.deepEqual(gate.kept.get(ANN.address), BOUGHT);
  assert.ok(gate.isLocked);
  gate.tell(text(ANN));
  assert.deepEqual(gate.shown, { kind: "open", isAuthor: false });
  assert.deepEqual(gate.last, { type: "show-text", html: "<p>", isFocused: true });
  assert.equal(gate.kept.size, 0);
  assert.ok(!gate.isLocked);
});

test("each step of a purchase is shown when it is reached, and the offer stays until the wallet is asked", () => {
  const gate = new Gate(ANN)
    .start(BUY)
    .tell({ type: "connected", buyer: ANN }, locked(), prepared());
  assert.equal(gate.shown, null);
  const step = () => gate.shown?.kind === "steps" && gate.shown.purchase?.step;
  gate.tell(asked);
  assert.equal(step(), "transaction");
  gate.tell(sent);
  assert.equal(step(), "mined");
  gate.tell(done);
  assert.equal(step(), undefined);
  const { shown } = gate.state;
  assert.ok(shown?.kind === "steps" && !shown.isSignedIn);
});

test("a click before the script was loaded is not lost", () => {
  assert.deepEqual(new Gate().start(BUY).last, { type: "connect" });
  assert.deepEqual(new Gate().start(OPEN).last, { type: "read", buyer: null });
});

test("two clicks on buying are one purchase", () => {
  const gate = new Gate(ANN).start().click(BUY).click(BUY);
  assert.equal(gate.count("connect"), 1);
  gate.tell({ type: "connected", buyer: ANN }).click(BUY).click(OPEN);
  gate.tell(locked()).click(BUY).tell(prepared()).click(BUY).tell(asked).click(BUY);
  assert.equal(gate.count("connect"), 1);
  assert.equal(gate.count("pay"), 1);
  assert.equal(gate.count("read"), 0);
});

test("the first check shows what the account may do", () => {
  const stranger = new Gate().start();
  assert.deepEqual(stranger.last, { type: "look", asks: "nothing" });
  const offer = { kind: "offer", price: PRICE, canOpen: true, note: null };
  assert.deepEqual(stranger.tell(looked("not-held")).shown, offer);
  const holder = new Gate(ANN).start();
  assert.deepEqual(holder.last, { type: "look", asks: "holder" });
  assert.deepEqual(holder.tell(looked("held")).shown, {
    kind: "held",
    isAuthor: false,
    note: null,
  });
  const author = new Gate(AUTHOR).start();
  assert.deepEqual(author.last, { type: "look", asks: "nothing" });
  const wrote = { kind: "held", isAuthor: true, note: null };
  assert.deepEqual(author.tell(looked("not-held")).shown, wrote);
  const refused = new Gate(ANN, ANN).start().fail(NOT_ENTITLED);
  assert.deepEqual(refused.shown, { ...offer, canOpen: false });
});

test("a signed-in holder reads without a click, and keeps the focus", () => {
  const gate = new Gate(ANN, ANN).start().tell(text(ANN));
  assert.deepEqual(gate.last, { type: "show-text", html: "<p>", isFocused: false });
  assert.equal(gate.state.openFor, ANN.address);
});

test("a text that arrives after signing out is dropped", () => {
  const gate = new Gate(ANN, ANN).start();
  const { turn } = gate.state;
  gate.change(null).dispatch({ ...text(ANN), turn });
  assert.equal(gate.count("show-text"), 0);
  assert.equal(gate.tell(looked("not-held")).shown?.kind, "offer");
});

test("a late check of one account draws nothing for another", () => {
  const gate = new Gate(ANN).start();
  const { turn } = gate.state;
  gate.change(BOB).dispatch({ ...looked("held"), turn });
  assert.equal(gate.shown, null);
  assert.equal(gate.tell(looked("not-held")).shown?.kind, "offer");
});

test("a click supersedes an earlier check", () => {
  const gate = new Gate(ANN, ANN).start();
  const { turn } = gate.state;
  gate.click(BUY).dispatch({ type: "failed", failure: failure(), turn });
  assert.equal(gate.shown, null);
  assert.deepEqual(gate.last, { type: "connect" });
});

test("switching accounts closes the text, and so does signing out", () => {
  for (const [account, session] of [
    [BOB, null],
    [BOB, BOB],
    [null, null],
  ] as const) {
    const gate = new Gate(ANN, ANN).start().tell(text(ANN)).change(account, session);
    assert.equal(gate.state.openFor, null);
    assert.deepEqual(gate.done.at(-2), { type: "clear-text" });
    assert.equal(gate.last?.type, "look");
  }
});

test("an expired session leaves the text open, and signing in again does not load it twice", () => {
  const gate = new Gate(ANN, ANN).start().tell(text(ANN)).change(ANN).change(ANN, ANN);
  assert.equal(gate.state.openFor, ANN.address);
  assert.equal(gate.count("clear-text"), 0);
  assert.equal(gate.count("look"), 1);
  assert.equal(gate.click(BUY).count("connect"), 0);
});

test("the end of a session is reported, although it has already redrawn the gate", () => {
  const gate = new Gate(ANN, ANN).start();
  const { turn } = gate.state;
  gate.change(ANN).dispatch({ type: "failed", failure: SESSION_ENDED, turn });
  assert.deepEqual(gate.last, { type: "notify", sentence: "Ended." });
  assert.equal(gate.tell(looked("held")).shown?.kind, "held");
});

test("a failed check offers to try again", () => {
  const gate = new Gate(ANN, ANN).start().fail(failure());
  assert.deepEqual(gate.shown, { kind: "failure", failure: failure(), again: OPEN });
  assert.deepEqual(gate.click(OPEN).last, { type: "read", buyer: null });
});

test("a reader who signs in without holding the post is told so next to the offer", () => {
  const gate = new Gate(ANN).start(OPEN).change(ANN, ANN).fail(NOT_ENTITLED);
  const offer = { kind: "offer", price: PRICE, canOpen: false, note: "Not held." };
  assert.deepEqual(gate.shown, offer);
});

test("after a declined sign-in, the gate checks again and says what was declined", () => {
  const gate = new Gate(ANN).start(OPEN).fail(DECLINED);
  assert.equal(gate.last?.type, "look");
  gate.tell(looked("held"));
  assert.deepEqual(gate.shown, { kind: "held", isAuthor: false, note: "You declined." });
});

test("another account can sign in while the prompt of the first is open", () => {
  const gate = new Gate(ANN).start(OPEN);
  const { turn } = gate.state;
  gate.change(BOB).click(OPEN);
  assert.equal(gate.count("read"), 2);
  gate.dispatch({ type: "failed", failure: ACCOUNT_CHANGED, turn });
  assert.equal(gate.shown, null);
  gate.change(BOB, BOB).tell(text(BOB));
  assert.equal(gate.state.openFor, BOB.address);
});

test("a sign-in whose account has changed is reported as stopped", () => {
  const gate = new Gate(ANN).start(OPEN).change(BOB).fail(ACCOUNT_CHANGED);
  assert.deepEqual(gate.shown, { kind: "failure", failure: ACCOUNT_CHANGED, again: OPEN });
  assert.equal(gate.change(null).last?.type, "look");
});

test("a closed dialog leaves the offer without a note", () => {
  const gate = new Gate().start(BUY).fail(DECLINED).tell(looked("not-held"));
  assert.ok(gate.shown?.kind === "offer" && gate.shown.note === null);
  assert.deepEqual(gate.click(BUY).last, { type: "connect" });
});

test("a wallet that could not be connected is asked again after a click", () => {
  const gate = new Gate().start(BUY).fail(failure());
  assert.ok(gate.shown?.kind === "failure");
  assert.deepEqual(gate.click(gate.shown.again).last, { type: "connect" });
});

test("declining the network switch sends nothing", () => {
  const gate = new Gate(ANN).start(BUY).tell({ type: "connected", buyer: ANN }, locked());
  gate.fail(DECLINED);
  assert.ok(!gate.isLocked);
  gate.tell(looked("not-held"));
  assert.ok(gate.shown?.kind === "offer" && gate.shown.note === "You declined.");
  assert.equal(gate.count("pay"), 0);
});

test("a declined purchase is forgotten, and can be tried again", () => {
  const gate = paying().tell(declined).fail(DECLINED).tell(looked("not-held"));
  assert.equal(gate.kept.size, 0);
  assert.ok(gate.shown?.kind === "offer" && gate.shown.note === "You declined.");
  gate.click(BUY).tell({ type: "connected", buyer: ANN }, locked(), prepared(), asked);
  assert.equal(gate.count("pay"), 2);
});

test("a declined sign-in does not lose the bought post, and the gate says so", () => {
  const gate = paying().tell(sent, done).fail(DECLINED);
  gate.tell(looked("begun"), locked(gate.kept.get(ANN.address)));
  assert.ok(gate.shown?.kind === "steps" && gate.shown.needsClick);
  assert.match(gate.shown.note?.sentence ?? "", /You declined to sign in. The post is still yours/);
  gate.click({ kind: "read", buyer: ANN }).tell(text(ANN));
  assert.equal(gate.shown?.kind, "open");
  assert.equal(gate.count("pay"), 1);
});

test("a post that the buyer already holds or wrote is opened, and nothing is paid", () => {
  const holder = new Gate(ANN).start(BUY);
  holder.tell({ type: "connected", buyer: ANN }, locked(), prepared(2n * PRICE, true));
  assert.deepEqual(holder.last, { type: "read", buyer: ANN });
  const author = new Gate(AUTHOR).start(BUY);
  author.tell({ type: "connected", buyer: AUTHOR }, locked(), prepared());
  assert.deepEqual(author.last, { type: "read", buyer: AUTHOR });
  assert.deepEqual(author.tell(text(AUTHOR)).shown, { kind: "open", isAuthor: true });
});

test("a changed price is shown before anything is sent, and applies to the next click", () => {
  const gate = new Gate(ANN).start(BUY);
  gate.tell({ type: "connected", buyer: ANN }, locked(), prepared(2n * PRICE));
  assert.deepEqual(gate.shown, {
    kind: "offer",
    price: 2n * PRICE,
    canOpen: true,
    note: "The author changed the price from 0.01 ETH to 0.02 ETH. Nothing was sent.",
  });
  assert.ok(!gate.isLocked);
  gate.click(BUY).tell({ type: "connected", buyer: ANN }, locked(), prepared(2n * PRICE), asked);
  assert.equal(gate.kept.get(ANN.address)?.price, (2n * PRICE).toString());
});

test("a price change after a doubtful payment does not claim that nothing was sent", () => {
  const gate = reloaded(ASKED).tell(doubt("lost")).click({ kind: "buy", doubted: ASKED });
  gate.tell({ type: "connected", buyer: ANN }, locked(ASKED), prepared(2n * PRICE));
  assert.ok(gate.shown?.kind === "offer");
  assert.equal(gate.shown.note, "The author changed the price from 0.01 ETH to 0.02 ETH.");
  assert.deepEqual(gate.kept.get(ANN.address), ASKED);
});

test("a reload during the prompt offers to check or to buy again", () => {
  const gate = reloaded(ASKED);
  assert.deepEqual(gate.last, { type: "pay", buyer: ANN });
  gate.tell(doubt("lost"));
  assert.deepEqual(gate.shown, { kind: "doubt", buyer: ANN, purchase: ASKED, doubt: "lost" });
  assert.ok(!gate.isLocked);
  gate.click({ kind: "buy", doubted: ASKED });
  gate.tell({ type: "connected", buyer: ANN }, locked(ASKED), prepared());
  assert.deepEqual(gate.kept.get(ANN.address), ASKED);
  gate.tell({ type: "moved", event: { type: "asked", nonce: 5 } });
  assert.deepEqual(gate.kept.get(ANN.address), { ...ASKED, asked: { nonce: 5 } });
});

test("a payment that arrived after a reload is found by checking again", () => {
  const gate = reloaded(ASKED).tell(doubt("lost")).click({ kind: "continue", buyer: ANN });
  assert.deepEqual(gate.last, { type: "resume", buyer: ANN });
  gate.tell({ type: "resumed", isKept: true }, locked(ASKED), done);
  assert.ok(gate.shown?.kind === "steps" && gate.shown.needsClick);
  assert.deepEqual(gate.kept.get(ANN.address), { ...ASKED, step: "entitled" });
});

test("a declined second payment leaves the first one in doubt", () => {
  const gate = reloaded(ASKED).tell(doubt("lost")).click({ kind: "buy", doubted: ASKED });
  gate.tell({ type: "connected", buyer: ANN }, locked(ASKED), prepared());
  gate.tell({ type: "moved", event: { type: "asked", nonce: 5 } }, declined).fail(DECLINED);
  assert.deepEqual(gate.kept.get(ANN.address), ASKED);
  gate.tell(looked("begun"), locked(ASKED), doubt("lost"));
  assert.equal(gate.shown?.kind, "doubt");
});

test("a purchase that another tab has continued is not replaced by buying again", () => {
  const gate = reloaded(ASKED).tell(doubt("lost")).click({ kind: "buy", doubted: ASKED });
  gate.tell({ type: "connected", buyer: ANN }, locked(SENT), prepared());
  assert.ok(gate.shown?.kind === "steps" && gate.shown.purchase === SENT);
});

test("a doubtful payment is not shown to another account", () => {
  const gate = reloaded(ASKED).tell(doubt("lost")).change(BOB);
  assert.equal(gate.last?.type, "look");
  assert.equal(gate.tell(looked("not-held")).shown?.kind, "offer");
  assert.deepEqual(gate.kept.get(ANN.address), ASKED);
});

test("a pending payment is followed after a reload, and the text needs a click", () => {
  const gate = reloaded(SENT);
  assert.ok(gate.shown?.kind === "steps" && gate.shown.purchase === SENT);
  gate.tell(done);
  assert.ok(gate.shown?.kind === "steps" && gate.shown.needsClick);
  assert.ok(!gate.isLocked);
  gate.click({ kind: "read", buyer: ANN }).click({ kind: "read", buyer: ANN });
  assert.equal(gate.count("read"), 1);
});

test("a pending payment is followed after signing out and in again, and not repeated", () => {
  const gate = new Gate().start(BUY).change(ANN);
  gate.tell({ type: "connected", buyer: ANN }, locked(SENT), prepared());
  assert.ok(gate.shown?.kind === "steps" && gate.shown.purchase === SENT);
  gate.tell(done);
  assert.deepEqual(gate.last, { type: "read", buyer: ANN });
});

test("a reload after the purchase continues with the text, automatically if a reader is signed in", () => {
  assert.deepEqual(reloaded(BOUGHT, ANN).last, { type: "read", buyer: ANN });
  const gate = reloaded(BOUGHT);
  assert.ok(gate.shown?.kind === "steps" && gate.shown.needsClick);
  assert.equal(gate.count("pay"), 0);
});

test("a purchase that another tab has finished is not continued", () => {
  const gate = new Gate(ANN).start().tell(looked("begun"), locked(null));
  assert.equal(gate.last?.type, "look");
  assert.ok(!gate.isLocked);
  const again = reloaded(ASKED).tell(doubt("lost")).click({ kind: "continue", buyer: ANN });
  assert.deepEqual(again.tell({ type: "resumed", isKept: false }).last, { type: "connect" });
});

test("a second tab waits for the one that buys, and then checks", () => {
  const gate = new Gate(ANN, ANN).start().tell(looked("begun"), { type: "lock-taken" });
  assert.deepEqual(gate.shown, { kind: "another-tab" });
  assert.deepEqual(gate.last, { type: "await-lock", buyer: ANN });
  gate.tell({ type: "lock-free" });
  assert.deepEqual(gate.last, { type: "look", asks: "text" });
});

test("the text is requested until the service knows the block, but not forever", () => {
  const gate = paying(ANN).tell(sent, done);
  gate.fail(NOT_ENTITLED);
  assert.deepEqual(gate.last, { type: "pause", seconds: 1 });
  gate.tell({ type: "paused" });
  assert.deepEqual(gate.last, { type: "read", buyer: ANN });
  while (gate.fail(NOT_ENTITLED).last?.type === "pause") gate.tell({ type: "paused" });
  assert.equal(gate.count("read"), 40);
  assert.ok(gate.shown?.kind === "failure");
  assert.deepEqual(gate.kept.get(ANN.address), BOUGHT);
});

test("an unavailable service loses nothing: a retry continues from the stored state", () => {
  const gate = paying(ANN).tell(sent, done).fail(failure());
  assert.ok(gate.shown?.kind === "failure" && !gate.isLocked);
  gate.click(gate.shown.again).tell({ type: "resumed", isKept: true }, locked(BOUGHT));
  assert.deepEqual(gate.last, { type: "read", buyer: ANN });
  assert.equal(gate.count("pay"), 1);
});

test("a payment that the wallet wrongly reported as failed is searched for, not repeated", () => {
  const gate = paying().fail(failure());
  assert.deepEqual(gate.kept.get(ANN.address), ASKED);
  assert.ok(gate.shown?.kind === "failure");
  gate.click(gate.shown.again).tell({ type: "resumed", isKept: true }, locked(ASKED), done);
  const { shown } = gate.state;
  assert.ok(shown?.kind === "steps" && shown.needsClick);
});

test("a sign-in that fails after a purchase is retried without further prompts", () => {
  const gate = reloaded(BOUGHT).click({ kind: "read", buyer: ANN }).fail(failure());
  assert.ok(gate.shown?.kind === "failure");
  assert.deepEqual(gate.click(gate.shown.again).last, { type: "read", buyer: ANN });
});

test("declining to continue a purchase is reported, and starts nothing automatically", () => {
  const gate = reloaded(ASKED).tell(doubt("lost")).click({ kind: "continue", buyer: ANN });
  gate.fail(DECLINED);
  assert.ok(gate.shown?.kind === "failure" && gate.shown.failure.isCancelled);
});

test("a purchase stays with its account when the wallet switches to another", () => {
  const gate = paying().change(BOB).tell(sent).fail(ACCOUNT_CHANGED);
  assert.deepEqual(gate.kept.get(ANN.address), SENT);
  assert.equal(gate.kept.has(BOB.address), false);
  assert.ok(gate.shown?.kind === "failure");
  assert.deepEqual(gate.click(gate.shown.again).last, { type: "connect" });
});

test("signing out during a purchase shows the offer, and keeps the sent transaction", () => {
  const gate = paying().tell(sent).change(null).fail(ACCOUNT_CHANGED);
  assert.equal(gate.last?.type, "look");
  assert.equal(gate.tell(looked("not-held")).shown?.kind, "offer");
  assert.deepEqual(gate.kept.get(ANN.address), SENT);
});

test("a purchase of one account is not offered to the next after a reload", () => {
  const gate = reloaded(SENT).change(BOB).tell(done);
  assert.equal(gate.last?.type, "look");
  assert.equal(gate.tell(looked("not-held")).shown?.kind, "offer");
});

test("an unavailable node is reported during a purchase, until it responds", () => {
  const gate = paying().tell(sent, { type: "noted", note: "The node is away." });
  const said = () => gate.shown?.kind === "steps" && gate.shown.note?.sentence;
  assert.equal(said(), "The node is away.");
  gate.tell({ type: "noted", note: null });
  assert.equal(said(), undefined);
  const { shown } = gate;
  assert.equal(gate.tell({ type: "noted", note: null }).shown, shown);
});

test("a reverted purchase is forgotten, and the next click starts a new one", () => {
  const gate = paying().tell(sent, { type: "moved", event: { type: "ended" } });
  gate.tell({ type: "settled", outcome: { kind: "reverted" } });
  assert.deepEqual(gate.shown, { kind: "reverted", buyer: ANN });
  assert.equal(gate.kept.size, 0);
  gate.click({ kind: "continue", buyer: ANN }).tell({ type: "resumed", isKept: false });
  assert.deepEqual(gate.last, { type: "connect" });
});

test("a failure that only a reload fixes offers a reload", () => {
  const gate = paying().fail(failure({ action: "reload" }));
  assert.ok(gate.shown?.kind === "failure");
  assert.deepEqual(gate.click(gate.shown.again).last, { type: "reload" });
});

test("a stale result changes nothing", () => {
  const gate = new Gate(ANN).start().tell(looked("not-held"));
  const { state } = gate;
  gate.tell(done, text(ANN), locked(), { type: "lock-free" }).fail(failure());
  assert.equal(gate.state, state);
});
