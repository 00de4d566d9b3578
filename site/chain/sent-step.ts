/**
 * The step in which a wallet sends one transaction, from the prompt to the block, across reloads.
 *
 * Its one rule: while a transaction may be on its way, no second one is sent unless the user says
 * so.
 */

import type { Call, Hex, Receipt } from "imprint-press";
import type { Retries } from "./retries.ts";
import { type Chain, followTransaction, searchTransaction } from "./transaction.ts";

/** The stored state. `step` is the current step; there may be others before and after. */
export interface Sending {
  /** `transaction`: the wallet sends it. `mined`: it is sent, and waiting for a block. */
  readonly step: string;
  /**
   * Set before the wallet is asked to send, with the account's next nonce; `batch` is the id that
   * the wallet gives to several calls (EIP-5792).
   */
  readonly asked: { readonly nonce: number; readonly batch?: string } | null;
  readonly transaction: Hex | null;
}

export type SendingEvent =
  | { readonly type: "asked"; readonly nonce: number }
  /** The wallet has sent nothing: its owner rejected the prompt, lacks the funds, or says so. */
  | { readonly type: "declined" }
  /** The wallet has taken several calls, and will send them together. */
  | { readonly type: "batched"; readonly batch: string }
  | { readonly type: "sent"; readonly transaction: Hex }
  /** The transaction failed, or its owner knows that it is gone. */
  | { readonly type: "ended" };

/** The changes by an event. Throws `TypeError` for an event that cannot happen in this state. */
export function advanceSending(sending: Sending, event: SendingEvent): SendingChange {
  const { step, asked } = sending;
  switch (event.type) {
    case "asked":
      if (step === "transaction" && !asked) return { asked: { nonce: event.nonce } };
      break;
    case "declined":
      if (step === "transaction") return { asked: null };
      break;
    case "batched":
      if (step === "transaction" && asked) return { asked: { ...asked, batch: event.batch } };
      break;
    case "sent":
      if (step === "transaction" && asked) return { step: "mined", transaction: event.transaction };
      break;
    case "ended":
      if (step === "mined") return { step: "transaction", asked: null, transaction: null };
      break;
  }
  throw new TypeError(`What is at “${step}” cannot be “${event.type}”.`);
}

export type SendingChange = Partial<Sending> & { readonly step?: "transaction" | "mined" };

/** What is uncertain about a transaction; it may still arrive. */
export type Doubt =
  /** The wallet's response is lost, and the chain has seen nothing of it. */
  | "lost"
  /** The response is lost, but one of the account's pending transactions may be the sent one. */
  | "unsettled"
  /** The account has used its nonce for another transaction. */
  | "replaced"
  /** The node does not know the transaction. */
  | "unknown"
  /** The node knows the transaction, but it is not mined. */
  | "pending";

export type Outcome =
  /** The chain has the wanted effect, whichever transaction caused it. */
  | { readonly kind: "done" }
  | { readonly kind: "mined"; readonly receipt: Receipt }
  /** The contract would refuse the call, so nothing was sent. */
  | { readonly kind: "refused"; readonly sentence: string }
  | { readonly kind: "reverted" }
  | { readonly kind: "doubt"; readonly doubt: Doubt };

export interface SentStepPorts {
  readonly chain: Chain;
  readonly retries: Retries;
  readonly sending: () => Sending;
  /** Store what an event changes, before anything else happens. */
  move(event: SendingEvent): void;
  call(): Call;
  /** Have the wallet switch to the chain of the service; it may prompt its owner. */
  switchChain(): Promise<void>;
  /** Why the contract would currently refuse this call. */
  findRefusal?(call: Call): Promise<string | null>;
  send(call: Call): Promise<Hex>;
  /** The transaction of a batch; null if the wallet does not know the batch. */
  followBatch?(batch: string): Promise<Hex | null>;
  /** Whether a failed `send` has certainly sent nothing. */
  hasSentNothing(error: unknown): boolean;
  /** Whether the chain has the effect of the transaction. Retries on its own. */
  isDone(): Promise<boolean>;
}

export class SentStep {
  constructor(private readonly ports: SentStepPorts) {}

  /**
   * Continue from the stored state: send if nothing was requested, search if no hash is known,
   * otherwise follow.
   *
   * Throws what the wallet, the node or `isDone` throws.
   */
  async run(): Promise<Outcome> {
    const { asked, transaction } = this.ports.sending();
    if (transaction) return this.follow(transaction, asked?.nonce ?? 0);
    if (!asked) return this.send();
    const found = asked.batch === undefined ? null : await this.followBatch(asked.batch);
    return found ? this.follow(found, asked.nonce) : this.search(asked.nonce);
  }

  /** The user says that the wallet has sent nothing, or that the transaction is gone. */
  giveUp(): void {
    const { step, asked } = this.ports.sending();
    if (step === "transaction" && asked) this.ports.move({ type: "declined" });
    else if (step === "mined") this.ports.move({ type: "ended" });
  }

  private async send(): Promise<Outcome> {
    const { ports } = this;
    const { retries } = ports;
    await retries.ask(() => ports.switchChain());
    if (await ports.isDone()) return { kind: "done" };
    const call = ports.call();
    const sentence = await retries.ask(async () => (await ports.findRefusal?.(call)) ?? null);
    if (sentence !== null) return { kind: "refused", sentence };
    const nonce = await retries.ask(() => ports.chain.countTransactions("pending"));
    ports.move({ type: "asked", nonce });
    const hash = await this.awaitHash(() => ports.send(call));
    return this.follow(hash, nonce);
  }

  private async followBatch(batch: string): Promise<Hex | null> {
    return this.awaitHash(async () => (await this.ports.followBatch?.(batch)) ?? null);
  }

  /** Store what the wallet says about its transaction. */
  private async awaitHash<T extends Hex | null>(ask: () => Promise<T>): Promise<T> {
    const { ports } = this;
    try {
      const hash = await ask();
      if (hash) ports.move({ type: "sent", transaction: hash });
      return hash;
    } catch (error) {
      if (ports.hasSentNothing(error)) ports.move({ type: "declined" });
      throw error;
    }
  }

  /** The wallet was asked, and the outcome is unknown: check the chain. */
  private async search(nonce: number): Promise<Outcome> {
    const { chain, retries } = this.ports;
    const found = await searchTransaction(chain, retries, nonce, () => this.ports.isDone());
    return found === "done" ? { kind: "done" } : { kind: "doubt", doubt: found };
  }

  private async follow(hash: Hex, nonce: number): Promise<Outcome> {
    const { chain, retries } = this.ports;
    const followed = await followTransaction(chain, retries, { hash, nonce });
    if (followed.kind === "mined" && followed.receipt.status === "success") return followed;
    if (followed.kind === "mined") this.ports.move({ type: "ended" });
    // A wallet that speeds up a transaction sends another one with the same effect.
    if (await this.ports.isDone()) return { kind: "done" };
    return followed.kind === "mined"
      ? { kind: "reverted" }
      : { kind: "doubt", doubt: followed.kind };
  }
}
