/** The checkout: from the click on buying to the open text, step by step, across reloads. */

import { buyPostCall, Refusal } from "imprint-press";
import { isHolder, readPrice } from "../chain/marketplace.ts";
import { chainOf, RETRY_PORTS } from "../chain/node.ts";
import {
  advancePurchase,
  beginPurchase,
  isBegun,
  isSamePurchase,
  type Purchase,
  type PurchaseEvent,
  purchaseKey,
} from "../chain/purchase.ts";
import { Retries } from "../chain/retries.ts";
import { SentStep } from "../chain/sent-step.ts";
import { button, type Child, fill, h } from "../page/dom.ts";
import { facts } from "../page/facts.ts";
import { coin } from "../page/format.ts";
import { lockIsFree, takeLock } from "../page/locks.ts";
import { session } from "../page/session.ts";
import { recall, remember } from "../page/storage.ts";
import {
  type Account,
  AccountChanged,
  account,
  connect,
  explain,
  hasSentNothing,
  onRightChain,
  withSession,
} from "../wallet/index.ts";
import { type Gate, openText, redraw, showFailure, showOffer, takeOver } from "./gate.ts";
import { changePrice } from "./offer.ts";
import { showDoubt, showReverted, showSteps } from "./purchase-steps.ts";

/** How often and how long the service is asked for a text that the chain has sold already. */
const ENTITLED_LOOKS = 40;
const ENTITLED_PAUSE = 1;

/** Buy, and read. A click asked for it.
 *
 * `doubted` is an earlier purchase that may still be paid, of which the reader was told.
 */
export async function buy(gate: Gate, doubted: Purchase | null = null): Promise<void> {
  // Another click on it changes nothing.
  if (gate.task === "buy") return;
  const release = takeOver(gate, "buy");
  let buyer: Account | null = null;
  try {
    const chosen = await connect();
    buyer = chosen;
    await alone(gate, chosen, () => purchase(gate, chosen, doubted));
  } catch (error) {
    if (explain(error).isCancelled) await redraw(gate, buyer ? error : null);
    else await showStop(gate, buyer, error);
  } finally {
    release();
  }
}

/** Try again after a failure: what was begun goes on, and is never begun twice. */
async function goOn(gate: Gate, buyer: Account | null): Promise<void> {
  const isSame = buyer !== null && account.value?.address === buyer.address;
  if (!isSame || recallPurchase(gate, buyer) === null) return buy(gate);
  if (gate.task === "buy") return;
  const release = takeOver(gate, "buy");
  try {
    await onRightChain(buyer);
    await continuePurchase(gate, buyer);
  } catch (error) {
    await showStop(gate, buyer, error);
  } finally {
    release();
  }
}

/** Go on with a purchase that a reload interrupted. Prompts nothing. */
export async function continuePurchase(
  gate: Gate,
  buyer: Account,
  ...notes: Child[]
): Promise<void> {
  const release = takeOver(gate, "buy");
  try {
    let isGone = false;
    await alone(gate, buyer, async () => {
      const begun = recallPurchase(gate, buyer);
      // Another tab may have ended it meanwhile.
      isGone = begun === null;
      if (!begun || (begun.step !== "entitled" && !(await settle(gate, buyer, begun)))) return;
      if (session.value) await read(gate, buyer);
      else showSignature(gate, buyer, ...notes);
    });
    if (isGone) await redraw(gate, null);
  } catch (error) {
    await showStop(gate, buyer, error);
  } finally {
    release();
  }
}

async function showStop(gate: Gate, buyer: Account | null, error: unknown): Promise<void> {
  // Signed out meanwhile: what was begun is kept for the account.
  if (error instanceof AccountChanged && account.value === null) return redraw(gate, null);
  showFailure(gate, error, () => void goOn(gate, buyer));
}

/** Only one tab buys a post for an account; the others say so and follow. */
async function alone(gate: Gate, buyer: Account, work: () => Promise<void>): Promise<void> {
  const name = purchaseKey(gate.postId, buyer.address);
  const release = await takeLock(name);
  if (release) return work().finally(release);
  fill(
    gate.place,
    h("h2", null, "Another tab is buying this post"),
    h("p", { role: "status" }, "Confirm or decline it there; this page goes on when that is done."),
  );
  await lockIsFree(name);
  await redraw(gate, null);
}

async function purchase(gate: Gate, buyer: Account, doubted: Purchase | null): Promise<void> {
  const { provider, address } = buyer;
  await onRightChain(buyer);
  const [price, isHeld] = await Promise.all([
    readPrice(provider, gate.postId),
    isHolder(provider, address, gate.postId),
  ]);
  const isAuthor = address.toLowerCase() === gate.author.toLowerCase();
  // Held or written already: there is nothing to buy.
  if (isHeld || isAuthor) return read(gate, buyer);
  const kept = recallPurchase(gate, buyer);
  const isDoubted = kept !== null && isSamePurchase(kept, doubted);
  const begun = isDoubted ? null : kept;
  if (!begun && price !== gate.offer.price) {
    const change = `The author changed the price from ${coin(gate.offer.price)} to ${coin(price)}.`;
    const sentence = isDoubted ? change : `${change} Nothing was sent.`;
    changePrice(gate.offer, price);
    return showOffer(gate, h("p", { class: "gate-status", role: "alert" }, sentence));
  }
  const next = begun ?? beginPurchase(gate.postId, address, price);
  if (await settle(gate, buyer, next, isDoubted ? kept : null)) await read(gate, buyer);
}

/** Have the wallet pay, or find out what became of it. False if that stays uncertain or failed.
 *
 * A doubted purchase is kept until another one may be paid in its place.
 */
async function settle(
  gate: Gate,
  buyer: Account,
  begun: Purchase,
  doubted: Purchase | null = null,
): Promise<boolean> {
  let current = begun;
  const retries = new Retries(RETRY_PORTS);
  const show = (...notes: Child[]) => showSteps(gate, buyer, current, ...notes);
  const move = (event: PurchaseEvent) => {
    current = advancePurchase(current, event);
    // What was sent belongs to the account that sent it, whichever is shown now.
    remember(purchaseKey(gate.postId, buyer.address), isBegun(current) ? current : doubted);
    if (isBegun(current)) show();
  };
  const present = () => expectPresent(buyer);
  const step = new SentStep({
    chain: chainOf(buyer.address, () => present().provider),
    retries,
    sending: () => current,
    move,
    call: () =>
      buyPostCall(facts.chain.marketplace, gate.postId, BigInt(current.price), facts.chain.id),
    switchChain: () => onRightChain(buyer),
    send: (call) => present().wallet.sendTransaction(call),
    hasSentNothing: (error) => error instanceof AccountChanged || hasSentNothing(error),
    isDone: () => retries.ask(() => isHolder(present().provider, buyer.address, gate.postId)),
  });
  if (isBegun(begun)) show();
  let isNoted = false;
  const unsubscribe = retries.note.subscribe((note) => {
    if (note !== null) show(h("p", { class: "gate-status", role: "status" }, note));
    else if (isNoted) show();
    isNoted = note !== null;
  });
  const outcome = await step.run().finally(unsubscribe);
  const look = () => void goOn(gate, buyer);
  if (outcome.kind === "done" || outcome.kind === "mined") move({ type: "mined" });
  else if (outcome.kind === "doubt")
    showDoubt(gate, current, outcome.doubt, { look, buyAgain: () => void buy(gate, current) });
  else showReverted(gate, look);
  return current.step === "entitled";
}

/** Sign in if needed, then ask for the text until the service has seen the purchase. */
async function read(gate: Gate, buyer: Account): Promise<void> {
  showSteps(gate, buyer, null);
  await withSession(async () => {
    for (let looks = 1; ; looks += 1) {
      expectPresent(buyer);
      try {
        return await openText(gate, true);
      } catch (error) {
        const lags = error instanceof Refusal && error.code === "not_entitled";
        if (!lags || looks >= ENTITLED_LOOKS) throw error;
        await RETRY_PORTS.pause(ENTITLED_PAUSE);
      }
    }
  });
  remember(purchaseKey(gate.postId, buyer.address), null);
}

/** The buyer, who must still be the account of this page. Throws `AccountChanged`. */
function expectPresent(buyer: Account): Account {
  if (account.value?.address !== buyer.address) throw new AccountChanged();
  return buyer;
}

/** After a reload a prompt needs a click. */
function showSignature(gate: Gate, buyer: Account, ...notes: Child[]): void {
  const go = async () => {
    const release = takeOver(gate, "open");
    try {
      await read(gate, buyer);
    } catch (error) {
      if (explain(error).isCancelled) await redraw(gate, error);
      else showFailure(gate, error, () => void go());
    } finally {
      release();
    }
  };
  showSteps(
    gate,
    buyer,
    null,
    ...notes,
    h(
      "p",
      { class: "gate-actions" },
      button("Sign in and read", () => void go(), { class: "button primary" }),
    ),
  );
}

const recallPurchase = (gate: Gate, buyer: Account): Purchase | null =>
  recall<Purchase>(purchaseKey(gate.postId, buyer.address));
