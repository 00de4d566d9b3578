/** A change of a post's price: a pure state machine, as that of a publication. */

import { advanceSending, type Sending, type SendingEvent } from "../../chain/sent-step.ts";

export const PRICE_STEPS = ["transaction", "mined", "listed"] as const;

export interface PriceChange extends Sending {
  readonly postId: string;
  /** The new price in wei, as a decimal text. */
  readonly price: string;
  readonly step: (typeof PRICE_STEPS)[number] | "done";
}

export type PriceEvent =
  | SendingEvent
  /** The chain has the new price. */
  | { readonly type: "mined" }
  | { readonly type: "listed" };

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
    case "mined":
      if (step === "transaction" || step === "mined") return { ...change, step: "listed" };
      break;
    case "listed":
      if (step === "listed") return { ...change, step: "done" };
      break;
    default:
      return { ...change, ...advanceSending(change, event) };
  }
  throw new TypeError(`A change of price at “${step}” cannot be “${event.type}”.`);
}
