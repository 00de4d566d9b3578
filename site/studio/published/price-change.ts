/** A change of a post's price: its states, and the steps from the wallet to the readers' view. */

import type { ReadonlySignal } from "@preact/signals";
import { advanceSending, type Sending, type SendingEvent } from "../../chain/sent-step.ts";
import { Stopped } from "../transactions/failure.ts";
import { type RunnerPorts, StepRunner } from "../transactions/step-runner.ts";
import { WORDS } from "../words.ts";

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

/** The change after an event. Throws `TypeError` for an event that cannot happen in this state. */
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

/** What a price change needs from the wallet, the chain and the service. */
export interface PricePorts extends RunnerPorts<PriceChange> {
  /** The price on the chain, in wei. */
  readPrice(): Promise<bigint>;
  /** The price that the service shows to readers. */
  readListedPrice(): Promise<string>;
}

const MAX_POLLS = 120;

export class PriceRunner extends StepRunner<PriceChange, PriceEvent, PricePorts> {
  constructor(change: PriceChange, ports: PricePorts) {
    super(change, ports, advancePrice);
  }

  get change(): ReadonlySignal<PriceChange> {
    return this.state;
  }

  protected override needsAuthor(): boolean {
    const { step, asked } = this.state.value;
    return step === "transaction" && asked === null;
  }

  protected override async isOnChain(): Promise<boolean> {
    const price = await this.retries.ask(() => this.ports.readPrice());
    return price.toString() === this.state.value.price;
  }

  protected override async perform(): Promise<void> {
    if (this.state.value.step === "listed") return this.wait();
    await this.transact();
    this.move({ type: "mined" });
  }

  private async wait(): Promise<void> {
    for (let poll = 0; poll < MAX_POLLS; poll += 1) {
      const listed = await this.retries.ask(() => this.ports.readListedPrice());
      // It may have been changed again meanwhile.
      if (listed === this.state.value.price || (poll > 5 && !(await this.isOnChain()))) {
        return this.move({ type: "listed" });
      }
      await this.retries.rest(poll);
    }
    throw new Stopped({
      sentence: WORDS.newPriceChainBut,
      actions: ["retry"],
    });
  }
}
