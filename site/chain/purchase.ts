/** The purchase of a post, stored so that a reload continues it. Pure: no wallet, no clock. */

import type { Address } from "imprint-press";
import { advanceSending, type Sending, type SendingEvent } from "./sent-step.ts";

export interface Purchase extends Sending {
  readonly postId: string;
  readonly account: Address;
  /** In wei, as a decimal text. */
  readonly price: string;
  /** `entitled`: the post is bought, and the text is being requested from the service. */
  readonly step: "transaction" | "mined" | "entitled";
}

export type PurchaseEvent =
  | SendingEvent
  /** The account holds the post on the chain. */
  | { readonly type: "mined" };

export const beginPurchase = (postId: string, account: Address, price: bigint): Purchase => ({
  postId,
  account,
  price: price.toString(),
  step: "transaction",
  asked: null,
  transaction: null,
});

/**
 * The purchase after an event. Throws `TypeError` for an event that cannot happen in this state.
 */
export function advancePurchase(purchase: Purchase, event: PurchaseEvent): Purchase {
  if (event.type === "mined") return { ...purchase, step: "entitled" };
  return { ...purchase, ...advanceSending(purchase, event) };
}

/**
 * Whether the wallet was asked to pay. If so, the purchase must not restart automatically.
 */
export const isBegun = ({ asked, step }: Purchase): boolean =>
  asked !== null || step !== "transaction";

/** Whether both are the same purchase at the same step. */
export const isSamePurchase = (one: Purchase, other: Purchase | null): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** The storage key of a purchase. */
export const purchaseKey = (postId: string, account: Address): string =>
  `imprint.purchase.${postId}.${account.toLowerCase()}`;
