/** Changing a price: asks the wallet, follows the transaction, and waits until readers see it. */

import { type ReadonlySignal, signal } from "@preact/signals";
import type { Call, Hex } from "imprint-press";
import { type Failure, LOST, Stopped, UNMINED } from "./failure.ts";
import { Patience, type Waiting } from "./patience.ts";
import { advancePrice, type PriceChange, type PriceEvent } from "./price-change.ts";
import { type Chain, followTransaction, searchTransaction } from "./sent-transaction.ts";

/** What a change of price needs from the wallet, the chain and the service. */
export interface RepricingWorld extends Waiting {
  readonly chain: Chain;
  call(change: PriceChange): Call;
  switchChain(): Promise<void>;
  findRefusal(call: Call): Promise<string | null>;
  send(call: Call): Promise<Hex>;
  hasSentNothing(error: unknown): boolean;
  /** The price on the chain, in wei. */
  readPrice(): Promise<bigint>;
  /** The price as the service shows it to readers. */
  readListedPrice(): Promise<string>;
  keep(change: PriceChange): void;
  recall(): PriceChange | null;
  lock(): Promise<(() => void) | null>;
  isFree(): Promise<void>;
  explain(error: unknown): Failure;
}

const LOOKS = 120;

export class Repricing {
  private readonly state;
  private readonly stopped = signal<Failure | null>(null);
  private readonly running = signal(false);
  private readonly patience: Patience;

  constructor(
    change: PriceChange,
    private readonly world: RepricingWorld,
  ) {
    this.state = signal(change);
    this.patience = new Patience(world);
  }

  get change(): ReadonlySignal<PriceChange> {
    return this.state;
  }

  get failure(): ReadonlySignal<Failure | null> {
    return this.stopped;
  }

  get isRunning(): ReadonlySignal<boolean> {
    return this.running;
  }

  get note(): ReadonlySignal<string | null> {
    return this.patience.note;
  }

  /** Go on until it is done or the author is needed. */
  async run(): Promise<void> {
    await this.act(() => undefined);
  }

  /** The author knows that the wallet has sent nothing, or that it is lost: ask it again. */
  async askAgain(): Promise<void> {
    await this.act(() => {
      const { step, asked } = this.state.value;
      if (step === "transaction" && asked) this.move({ type: "declined" });
      else if (step === "mined") this.move({ type: "ended" });
    });
  }

  /** Have the wallet switch to the right chain, then go on. */
  async switchChain(): Promise<void> {
    await this.act(() => this.world.switchChain());
  }

  private async act(first: () => Promise<void> | void): Promise<void> {
    if (this.running.value) return;
    this.running.value = true;
    this.stopped.value = null;
    try {
      const release = await this.take();
      try {
        await first();
        while (this.state.value.step !== "done") await this.perform();
      } finally {
        release();
      }
    } catch (error) {
      this.stopped.value = error instanceof Stopped ? error.failure : this.world.explain(error);
    } finally {
      this.running.value = false;
    }
  }

  /** Wait for another tab that changes the same price, and go on from where that one ended. */
  private async take(): Promise<() => void> {
    for (;;) {
      const release = await this.world.lock();
      if (release) {
        this.state.value = this.world.recall() ?? this.state.value;
        return release;
      }
      await this.world.isFree();
    }
  }

  private perform(): Promise<void> {
    const { step, asked } = this.state.value;
    if (step === "transaction") return asked ? this.search(asked.nonce) : this.send();
    return step === "mined" ? this.follow() : this.wait();
  }

  private move(event: PriceEvent): void {
    const next = advancePrice(this.state.value, event);
    this.world.keep(next);
    this.state.value = next;
  }

  private async send(): Promise<void> {
    const { world, patience } = this;
    const call = world.call(this.state.value);
    await patience.ask(() => world.switchChain());
    if (await this.isDone()) return this.move({ type: "mined" });
    const refusal = await patience.ask(() => world.findRefusal(call));
    if (refusal !== null) throw new Stopped({ sentence: refusal, actions: ["retry"] });
    const nonce = await patience.ask(() => world.chain.countTransactions("pending"));
    this.move({ type: "asked", nonce });
    let hash: Hex;
    try {
      hash = await world.send(call);
    } catch (error) {
      if (world.hasSentNothing(error)) this.move({ type: "declined" });
      throw error;
    }
    this.move({ type: "sent", transaction: hash });
  }

  private async search(nonce: number): Promise<void> {
    const isDone = () => this.isDone();
    const found = await searchTransaction(this.world.chain, this.patience, nonce, isDone);
    if (found === "done") return this.move({ type: "mined" });
    if (found === "other") this.move({ type: "declined" });
    throw new Stopped(LOST);
  }

  private async follow(): Promise<void> {
    const { transaction: hash, asked } = this.state.value;
    if (!hash) throw new TypeError("There is no transaction to follow.");
    const sent = { hash, nonce: asked?.nonce ?? 0 };
    const followed = await followTransaction(this.world.chain, this.patience, sent);
    const isSuccess = followed.kind === "mined" && followed.receipt.status === "success";
    if (isSuccess || (await this.isDone())) return this.move({ type: "mined" });
    if (followed.kind === "mined" || followed.kind === "replaced") this.move({ type: "ended" });
    if (followed.kind !== "mined") throw new Stopped(UNMINED[followed.kind]);
    const sentence = "The transaction failed on the chain, perhaps for lack of gas. Send it again?";
    throw new Stopped({ sentence, actions: ["retry"] });
  }

  private async wait(): Promise<void> {
    for (let look = 0; look < LOOKS; look += 1) {
      const listed = await this.patience.ask(() => this.world.readListedPrice());
      // Somebody may have changed it once more meanwhile.
      if (listed === this.state.value.price || (look > 5 && !(await this.isDone()))) {
        return this.move({ type: "listed" });
      }
      await this.patience.rest(look);
    }
    throw new Stopped({
      sentence:
        "The chain has the new price, but the service has not seen it yet. Nothing has to be sent again.",
      actions: ["retry"],
    });
  }

  private async isDone(): Promise<boolean> {
    const price = await this.patience.ask(() => this.world.readPrice());
    return price.toString() === this.state.value.price;
  }
}
