/** A change of a post's price: a pure state machine, as that of a publication. */

import type { Hex } from "imprint-press";
import type { StepState } from "./progress.ts";

export interface PriceChange {
  readonly postId: string;
  /** The new price in wei, as a decimal text. */
  readonly price: string;
  readonly step: "transaction" | "mined" | "listed" | "done";
  readonly transaction: Hex | null;
}

export type PriceEvent =
  | { readonly type: "sent"; readonly transaction: Hex }
  | { readonly type: "mined" }
  /** The transaction failed or vanished. */
  | { readonly type: "ended" }
  | { readonly type: "listed" };

export const PRICE_STEPS = ["transaction", "mined", "listed"] as const;

export const beginPriceChange = (postId: string, price: bigint): PriceChange => ({
  postId,
  price: price.toString(),
  step: "transaction",
  transaction: null,
});

/** The change after an event. Throws `TypeError` for one that cannot happen in this state. */
export function advancePrice(change: PriceChange, event: PriceEvent): PriceChange {
  const { step } = change;
  if (event.type === "sent" && step === "transaction") {
    return { ...change, step: "mined", transaction: event.transaction };
  }
  if (event.type === "mined" && step === "mined") return { ...change, step: "listed" };
  if (event.type === "ended" && step === "mined") {
    return { ...change, step: "transaction", transaction: null };
  }
  // The service may have seen the price before this page has seen the receipt.
  if (event.type === "listed" && step !== "done") return { ...change, step: "done" };
  throw new TypeError(`A change of price at “${step}” cannot be “${event.type}”.`);
}

/** The state of each step, in order. */
export function priceStates(change: PriceChange, failed: boolean): StepState[] {
  const at = change.step === "done" ? PRICE_STEPS.length : PRICE_STEPS.indexOf(change.step);
  return PRICE_STEPS.map((_, index) => {
    if (index < at) return "done";
    return index > at ? "ahead" : failed ? "failed" : "now";
  });
}
