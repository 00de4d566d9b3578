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
import { isDevelopmentAccount } from "../wallet/connection.ts";
import {
  type Account,
  AccountChanged,
  account,
  connect,
  explain,
  onRightChain,
  withSession,
} from "../wallet/index.ts";
import { type Gate, openText, showFailure, showOffer } from "./gate.ts";
import { changePrice } from "./offer.ts";

/** How often and how long the service is asked for a text that the chain has sold already. */
const ENTITLED_LOOKS = 40;
const ENTITLED_PAUSE = 1000;
/** How often the chain is asked for a purchase whose hash a reload lost. */
const UNSEEN_LOOKS = 60;

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
    if (buyer) keep(gate, buyer, { type: "ended" });
    const { sentence, isCancelled } = explain(error);
    if (isCancelled) showOffer(gate, h("p", { class: "gate-status", role: "alert" }, sentence));
    else showFailure(gate, error, () => void buy(gate));
  } finally {
    gate.isBusy = false;
  }
}

/** Go on with a purchase that a reload interrupted. Prompts nothing. */
export async function continuePurchase(gate: Gate, buyer: Account, begun: Purchase): Promise<void> {
  gate.isBusy = true;
  try {
    await alone(gate, buyer, async () => {
      const standing = await readStanding(buyer.provider, buyer.address, gate.postId);
      const way = resume(begun, standing);
      if (way === "ask") {
        keep(gate, buyer, { type: "ended" });
        return showOffer(
          gate,
          h(
            "p",
            { class: "gate-status" },
            "Your last purchase was not sent. If your wallet still shows it, decline it there before you buy again.",
          ),
        );
      }
      if (way === "follow" && begun.hash) await follow(gate, buyer, begun.hash);
      else if (way === "wait") await awaitToken(gate, buyer);
      keep(gate, buyer, { type: "mined" });
      if (session.value) await read(gate, buyer);
      else showSignature(gate, buyer);
    });
  } catch (error) {
    showFailure(gate, error, () => void continueNow(gate, buyer));
  } finally {
    gate.isBusy = false;
  }
}

async function continueNow(gate: Gate, buyer: Account): Promise<void> {
  const begun = recall<Purchase>(purchaseKey(gate.postId, buyer.address));
  if (begun) await continuePurchase(gate, buyer, begun);
  else showOffer(gate);
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
  const begun = recall<Purchase>(name);
  if (begun) await continuePurchase(gate, buyer, begun);
  else showOffer(gate);
}

async function purchase(gate: Gate, buyer: Account): Promise<void> {
  const { provider, address, wallet } = buyer;
  await onRightChain(buyer);
  const [price, { balance, nonce }] = await Promise.all([
    readPrice(provider, gate.postId),
    readStanding(provider, address, gate.postId),
  ]);
  const isAuthor = address.toLowerCase() === gate.author.toLowerCase();
  // Held or written already: there is nothing to buy.
  if (balance > 0n || isAuthor) return read(gate, buyer);
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
    nonce,
  });
  const hash = await wallet.sendTransaction(
    buyPostCall(facts.chain.marketplace, gate.postId, price),
  );
  // What was sent belongs to the account that sent it, whichever is shown now.
  keep(gate, buyer, { type: "sent", hash });
  if (account.value?.address !== address) throw new AccountChanged();
  await follow(gate, buyer, hash);
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

/** Wait for the token of a purchase whose hash is unknown. */
async function awaitToken(gate: Gate, buyer: Account): Promise<void> {
  showSteps(gate, buyer);
  for (let looks = 0; looks < UNSEEN_LOOKS; looks += 1) {
    const { balance } = await readStanding(buyer.provider, buyer.address, gate.postId);
    if (balance > 0n) return;
    await pause(ENTITLED_PAUSE);
  }
  keep(gate, buyer, { type: "ended" });
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
function showSignature(gate: Gate, buyer: Account): void {
  const go = async () => {
    gate.isBusy = true;
    try {
      await read(gate, buyer);
    } catch (error) {
      showFailure(gate, error, () => void go());
    } finally {
      gate.isBusy = false;
    }
  };
  showSteps(
    gate,
    buyer,
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
