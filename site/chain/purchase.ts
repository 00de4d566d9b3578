/** The steps of buying a post, kept so that a reload goes on where it was. Pure: no wallet, no clock. */

import type { Address, Hex } from "imprint-press";

/** asked: the wallet shows it; sent: it has a hash; mined: the chain has it; entitled: readable. */
export type Step = "asked" | "sent" | "mined" | "entitled";

export interface Purchase {
  readonly postId: string;
  readonly account: Address;
  /** In wei. */
  readonly price: string;
  readonly step: Step;
  /** Null until the wallet has sent it. */
  readonly hash: Hex | null;
  /** How many transactions the account had sent before: more mean that the wallet sent it. */
  readonly nonce: number;
}

export type PurchaseEvent =
  | { type: "asked"; postId: string; account: Address; price: string; nonce: number }
  | { type: "sent"; hash: Hex }
  | { type: "mined" }
  | { type: "entitled" }
  /** Declined, reverted or dropped: it may be begun again. */
  | { type: "ended" };

/** What the chain says of the account when a purchase is taken up again. */
export interface Standing {
  balance: bigint;
  /** How many transactions the account has sent, those that wait included. */
  nonce: number;
  /** Whether none of them waits for a block. */
  isSettled: boolean;
}

const ORDER: readonly Step[] = ["asked", "sent", "mined", "entitled"];

/** The purchase after an event; null if there is none any more. A step is never taken back. */
export function advance(purchase: Purchase | null, event: PurchaseEvent): Purchase | null {
  if (event.type === "asked") {
    if (purchase && purchase.step !== "asked") return purchase;
    const { type: step, ...begun } = event;
    return { ...begun, step, hash: null };
  }
  if (purchase === null) return null;
  if (event.type === "ended") return hasReached(purchase, "mined") ? purchase : null;
  if (event.type === "sent")
    return hasReached(purchase, "mined")
      ? purchase
      : { ...purchase, step: "sent", hash: event.hash };
  return hasReached(purchase, event.type) ? purchase : { ...purchase, step: event.type };
}

/** Whether a purchase is at this step or further. */
export const hasReached = (purchase: Purchase, step: Step): boolean =>
  ORDER.indexOf(purchase.step) >= ORDER.indexOf(step);

/** How to go on after a reload: read, follow the transaction, wait for one unseen, or ask anew. */
export function resume(purchase: Purchase, standing: Standing): "read" | "follow" | "wait" | "ask" {
  if (standing.balance > 0n || hasReached(purchase, "mined")) return "read";
  if (purchase.hash !== null) return "follow";
  return standing.nonce > purchase.nonce ? "wait" : "ask";
}

/** Where a purchase is kept. */
export const purchaseKey = (postId: string, account: Address): string =>
  `imprint.purchase.${postId}.${account.toLowerCase()}`;
