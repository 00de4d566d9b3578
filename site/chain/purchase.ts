/** The purchase of a post, kept so that a reload goes on where it was. Pure: no wallet, no clock. */

import type { Address } from "imprint-press";
import { advanceSending, type Sending, type SendingEvent } from "./sent-step.ts";

export interface Purchase extends Sending {
  readonly postId: string;
  readonly account: Address;
  /** In wei, as a decimal text. */
  readonly price: string;
  /** `entitled`: the chain has sold it, and the service is asked for the text. */
  readonly step: "transaction" | "mined" | "entitled";
}

export type PurchaseEvent =
  | SendingEvent
  /** The chain says that the account holds the post. */
  | { readonly type: "mined" };

export const beginPurchase = (postId: string, account: Address, price: bigint): Purchase => ({
  postId,
  account,
  price: price.toString(),
  step: "transaction",
  asked: null,
  transaction: null,
});

/** The purchase after an event. Throws `TypeError` for one that cannot happen in this state. */
export function advancePurchase(purchase: Purchase, event: PurchaseEvent): Purchase {
  if (event.type === "mined") return { ...purchase, step: "entitled" };
  return { ...purchase, ...advanceSending(purchase, event) };
}

/** Whether the wallet was asked for it: it may have been paid, and is not begun anew by itself. */
export const isBegun = ({ asked, step }: Purchase): boolean =>
  asked !== null || step !== "transaction";

/** Whether two are the same purchase at the same step. */
export const isSamePurchase = (one: Purchase, other: Purchase | null): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** Where a purchase is kept. */
export const purchaseKey = (postId: string, account: Address): string =>
  `imprint.purchase.${postId}.${account.toLowerCase()}`;
