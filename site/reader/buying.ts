/** Buying a post: from the click to the open text, step by step, across reloads. */

import { buyPostCall, type Hex, Refusal } from "imprint-press";
import { readPrice, readStanding } from "../chain/marketplace.ts";
import {
  advance,
  hasReached,
  type Purchase,
  type PurchaseEvent,
  purchaseKey,
  resume,
} from "../chain/purchase.ts";
import { Dropped, followTransaction, Replaced, StillPending } from "../chain/transaction.ts";
import { button, type Child, fill, h } from "../page/dom.ts";
import { facts } from "../page/facts.ts";
import { coin } from "../page/format.ts";
import { session } from "../page/session.ts";
import { recall, remember } from "../page/storage.ts";
import { readChain } from "../wallet/chains.ts";
import { isDevelopmentAccount } from "../wallet/connection.ts";
import {
  type Account,
  AccountChanged,
  account,
  connect,
  explain,
  hasSentNothing,
  onRightChain,
  WrongChain,
  withSession,
} from "../wallet/index.ts";
import { type Gate, openText, redraw, showFailure, showOffer } from "./gate.ts";
import { changePrice } from "./offer.ts";

/** How often and how long the service is asked for a text that the chain has sold already. */
const ENTITLED_LOOKS = 40;
const ENTITLED_PAUSE = 1000;
/** How often the chain is asked for a purchase whose hash a reload lost. */
const UNSEEN_LOOKS = 60;
/** After so many looks a node is sure to have the tokens of the blocks that it counts. */
const SETTLED_LOOKS = 3;

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Buy, and read. A click asked for it. */
export async function buy(gate: Gate): Promise<void> {
  gate.isBusy = true;
  let buyer: Account | null = null;
  try {
    buyer = await connect();
    await alone(gate, buyer, purchase);
  } catch (error) {
    if (explain(error).isCancelled) await redraw(gate, buyer ? error : null);
    else showFailure(gate, error, () => void goOn(gate, buyer));
  } finally {
    gate.isBusy = false;
  }
}

/** Try again after a failure: what was begun goes on, and is never begun twice. */
async function goOn(gate: Gate, buyer: Account | null): Promise<void> {
  const isSame = buyer !== null && account.value?.address === buyer.address;
  const begun = isSame ? recall<Purchase>(purchaseKey(gate.postId, buyer.address)) : null;
  if (!isSame || begun === null) return buy(gate);
  try {
    await onRightChain(buyer);
  } catch (error) {
    return showFailure(gate, error, () => void goOn(gate, buyer));
  }
  await continuePurchase(gate, buyer, begun);
}

/** Go on with a purchase that a reload interrupted. Prompts nothing. */
export async function continuePurchase(
  gate: Gate,
  buyer: Account,
  begun: Purchase,
  ...notes: Child[]
): Promise<void> {
  gate.isBusy = true;
  try {
    await alone(gate, buyer, async () => {
      if (!hasReached(begun, "mined") && !(await isMined(gate, buyer, begun)))
        return showUnsent(gate, buyer);
      keep(gate, buyer, { type: "mined" });
      if (session.value) await read(gate, buyer);
      else showSignature(gate, buyer, ...notes);
    });
  } catch (error) {
    showFailure(gate, error, () => void goOn(gate, buyer));
  } finally {
    gate.isBusy = false;
  }
}

/** Whether a begun purchase is in a block, once that is certain. */
async function isMined(gate: Gate, buyer: Account, begun: Purchase): Promise<boolean> {
  const chain = await readChain(buyer.provider);
  if (chain !== facts.chain.id) throw new WrongChain(chain);
  const way = resume(begun, await readStanding(buyer.provider, buyer.address, gate.postId));
  if (way === "follow" && begun.hash) await follow(gate, buyer, begun.hash);
  return way === "wait" ? awaitToken(gate, buyer) : way !== "ask";
}

function showUnsent(gate: Gate, buyer: Account): void {
  keep(gate, buyer, { type: "ended" });
  const sentence =
    "Your last purchase was not sent. If your wallet still shows it, decline it there before you buy again.";
  showOffer(gate, h("p", { class: "gate-status", role: "status" }, sentence));
}

/** Only one tab buys a post for an account; the others say so and follow. */
async function alone(
  gate: Gate,
  buyer: Account,
  work: (gate: Gate, buyer: Account) => Promise<void>,
): Promise<void> {
  const name = purchaseKey(gate.postId, buyer.address);
  if (!navigator.locks) return work(gate, buyer);
  const isMine = await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
    if (lock) await work(gate, buyer);
    return lock !== null;
  });
  if (isMine) return;
  fill(
    gate.place,
    h("h2", null, "Another tab is buying this post"),
    h("p", { role: "status" }, "Confirm or decline it there; this page goes on when that is done."),
  );
  await navigator.locks.request(name, async () => {});
  await redraw(gate, null);
}

async function purchase(gate: Gate, buyer: Account): Promise<void> {
  const { provider, address, wallet } = buyer;
  await onRightChain(buyer);
  const [price, standing] = await Promise.all([
    readPrice(provider, gate.postId),
    readStanding(provider, address, gate.postId),
  ]);
  const isAuthor = address.toLowerCase() === gate.author.toLowerCase();
  // Held or written already: there is nothing to buy.
  if (standing.balance > 0n || isAuthor) return read(gate, buyer);
  const begun = recall<Purchase>(purchaseKey(gate.postId, address));
  if (begun && resume(begun, standing) !== "ask") return takeUp(gate, buyer, begun);
  if (price !== gate.offer.price) {
    const before = gate.offer.price;
    changePrice(gate.offer, price);
    return showOffer(
      gate,
      h(
        "p",
        { class: "gate-status", role: "alert" },
        `The author changed the price from ${coin(before)} to ${coin(price)}. Nothing was sent.`,
      ),
    );
  }
  keep(gate, buyer, {
    type: "asked",
    postId: gate.postId,
    account: address,
    price: String(price),
    nonce: standing.nonce,
  });
  const { marketplace, id } = facts.chain;
  const hash = await wallet
    .sendTransaction(buyPostCall(marketplace, gate.postId, price, id))
    .catch((error: unknown) => {
      // One that may have been sent is looked for before another is.
      if (hasSentNothing(error)) keep(gate, buyer, { type: "ended" });
      throw error;
    });
  // What was sent belongs to the account that sent it, whichever is shown now.
  keep(gate, buyer, { type: "sent", hash });
  if (account.value?.address !== address) throw new AccountChanged();
  await follow(gate, buyer, hash);
  keep(gate, buyer, { type: "mined" });
  await read(gate, buyer);
}

/** Buy what is bought already, perhaps: look for what was sent before anything is sent again. */
async function takeUp(gate: Gate, buyer: Account, begun: Purchase): Promise<void> {
  if (!(await isMined(gate, buyer, begun))) return showUnsent(gate, buyer);
  keep(gate, buyer, { type: "mined" });
  await read(gate, buyer);
}

async function follow(gate: Gate, buyer: Account, hash: Hex): Promise<void> {
  showSteps(gate, buyer);
  try {
    const receipt = await followTransaction(buyer.provider, hash);
    if (receipt.status === "success") return;
    keep(gate, buyer, { type: "ended" });
    throw new Error("execution reverted");
  } catch (error) {
    if (!(error instanceof Replaced || error instanceof Dropped)) throw error;
    // Sped up, or sent by a contract wallet under another hash: the token tells.
    const { balance } = await readStanding(buyer.provider, buyer.address, gate.postId);
    if (balance > 0n) return;
    keep(gate, buyer, { type: "ended" });
    throw error;
  }
}

/** Wait for the token of a purchase whose hash is unknown. False if it was another transaction. */
async function awaitToken(gate: Gate, buyer: Account): Promise<boolean> {
  showSteps(gate, buyer);
  for (let looks = 0; looks < UNSEEN_LOOKS; looks += 1) {
    const found = await readStanding(buyer.provider, buyer.address, gate.postId);
    if (found.balance > 0n) return true;
    // Nothing waits for a block, and the token is not there.
    if (found.isSettled && looks >= SETTLED_LOOKS) return false;
    await pause(ENTITLED_PAUSE);
  }
  throw new StillPending();
}

/** Sign in if needed, then ask for the text until the service has seen the purchase. */
async function read(gate: Gate, buyer: Account): Promise<void> {
  showSteps(gate, buyer);
  await withSession(async () => {
    for (let looks = 1; ; looks += 1) {
      try {
        return await openText(gate, true);
      } catch (error) {
        const lags = error instanceof Refusal && error.code === "not_entitled";
        if (!lags || looks >= ENTITLED_LOOKS) throw error;
        await pause(ENTITLED_PAUSE);
      }
    }
  });
  remember(purchaseKey(gate.postId, buyer.address), null);
}

/** After a reload a prompt needs a click. */
function showSignature(gate: Gate, buyer: Account, ...notes: Child[]): void {
  const go = async () => {
    gate.isBusy = true;
    try {
      await read(gate, buyer);
    } catch (error) {
      if (explain(error).isCancelled) await redraw(gate, error);
      else showFailure(gate, error, () => void go());
    } finally {
      gate.isBusy = false;
    }
  };
  showSteps(
    gate,
    buyer,
    ...notes,
    h(
      "p",
      { class: "gate-actions" },
      button("Sign in and read", () => void go(), { class: "button primary" }),
    ),
  );
}

function keep(gate: Gate, buyer: Account, event: PurchaseEvent): void {
  const key = purchaseKey(gate.postId, buyer.address);
  const next = advance(recall<Purchase>(key), event);
  remember(key, next);
  if (next && event.type !== "ended") showSteps(gate, buyer);
}

function showSteps(gate: Gate, buyer: Account, ...more: Child[]): void {
  const begun = recall<Purchase>(purchaseKey(gate.postId, buyer.address));
  const isMined = begun === null || hasReached(begun, "mined");
  const reached = begun === null || isMined ? 3 : hasReached(begun, "sent") ? 2 : 0;
  const isSilent = isDevelopmentAccount(buyer);
  const labels = [
    isSilent ? "Signed by the development chain" : `Confirm the purchase in ${buyer.name}`,
    "Sent to the chain",
    "In a block: the post is yours",
    session.value || isSilent
      ? "Opening the text"
      : `Sign in with ${buyer.name}: free, it only proves that the account is yours`,
  ];
  const state = (place: number) => (place < reached ? "done" : place === reached ? "now" : "next");
  fill(
    gate.place,
    h("h2", null, isMined ? "The post is yours" : `Buying for ${coin(gate.offer.price)}`),
    h(
      "ol",
      { class: "steps", "aria-live": "polite" },
      labels.map((label, place) =>
        h("li", { "data-state": state(place), "aria-current": place === reached && "step" }, label),
      ),
    ),
    ...more,
  );
}
