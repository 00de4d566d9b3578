/** A change of a post's price: a pure state machine, as that of a publication. */

import type { Hex } from "imprint-press";
import type { StepState } from "./progress.ts";

export interface PriceChange {
  readonly postId: string;
  /** The new price in wei, as a decimal text. */
  readonly price: string;
  readonly step: "transaction" | "mined" | "listed" | "done";
  /** Set before the wallet is asked to send, with the number of the account's next transaction. */
  readonly asked: { readonly nonce: number } | null;
  readonly transaction: Hex | null;
}

export type PriceEvent =
  | { readonly type: "asked"; readonly nonce: number }
  /** The wallet has sent nothing. */
  | { readonly type: "declined" }
  | { readonly type: "sent"; readonly transaction: Hex }
  /** The chain has the new price. */
  | { readonly type: "mined" }
  /** The transaction failed or was replaced. */
  | { readonly type: "ended" }
  | { readonly type: "listed" };

export const PRICE_STEPS = ["transaction", "mined", "listed"] as const;

export const beginPriceChange = (postId: string, price: bigint): PriceChange => ({
  postId,
  price: price.toString(),
  step: "transaction",
  asked: null,
  transaction: null,
});

/** The change after an event. Throws `TypeError` for one that cannot happen in this state. */
export function advancePrice(change: PriceChange, event: PriceEvent): PriceChange {
  const { step } = change;
  switch (event.type) {
    case "asked":
      if (step === "transaction" && !change.asked)
        return { ...change, asked: { nonce: event.nonce } };
      break;
    case "declined":
      if (step === "transaction") return { ...change, asked: null };
      break;
    case "sent":
      if (step === "transaction" && change.asked)
        return { ...change, step: "mined", transaction: event.transaction };
      break;
    case "mined":
      if (step === "transaction" || step === "mined") return { ...change, step: "listed" };
      break;
    case "ended":
      if (step === "mined")
        return { ...change, step: "transaction", asked: null, transaction: null };
      break;
    case "listed":
      if (step === "listed") return { ...change, step: "done" };
      break;
  }
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
