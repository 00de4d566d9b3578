/**
 * Work in several steps, one of them a transaction: one tab does it, and a reload continues it.
 */

import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Call, Hex, Receipt } from "imprint-press";
import { Retries, type RetryPorts } from "../../chain/retries.ts";
import { type Sending, type SendingEvent, SentStep } from "../../chain/sent-step.ts";
import type { Chain } from "../../chain/transaction.ts";
import { WORDS } from "../words.ts";
import { DOUBTS, type Failure, Stopped } from "./failure.ts";

/** What work needs from the wallet of an account. */
export interface WalletPorts extends RetryPorts {
  readonly chain: Chain;
  /** Have the wallet switch to the chain of the service; it may prompt its owner. */
  switchChain(): Promise<void>;
  /** Why the contract would currently refuse this call. */
  findRefusal(call: Call): Promise<string | null>;
  send(call: Call): Promise<Hex>;
  /** Whether a failed `send` has certainly sent nothing. */
  hasSentNothing(error: unknown): boolean;
  explain(error: unknown): Failure;
}

export interface RunnerPorts<State> extends WalletPorts {
  /** The transaction of the work. */
  call(state: State): Call;
  keep(state: State): void;
  /** The stored state, perhaps of another tab. */
  recall(): State | null;
  /**
   * Keep other tabs from running this; returns a function that releases the lock, or null if one of
   * them runs it.
   */
  lock(): Promise<(() => void) | null>;
  /** Whether a tab runs the work. */
  isLocked(): Promise<boolean>;
  /** Resolves as soon as no other tab runs the work. */
  isFree(): Promise<void>;
}

export abstract class StepRunner<
  State extends Sending,
  OwnEvent extends { readonly type: string },
  Ports extends RunnerPorts<State>,
> {
  protected readonly retries: Retries;
  private readonly current: Signal<State>;
  private readonly stopped = signal<Failure | null>(null);
  private readonly running = signal(false);
  private readonly elsewhere = signal(false);
  private readonly sentStep: SentStep;

  constructor(
    begun: State,
    protected readonly ports: Ports,
    private readonly advance: (state: State, event: OwnEvent | SendingEvent) => State,
  ) {
    this.current = signal(begun);
    this.retries = new Retries(ports);
    this.sentStep = new SentStep({
      chain: ports.chain,
      retries: this.retries,
      sending: () => this.current.value,
      move: (event) => this.move(event),
      call: () => ports.call(this.current.value),
      switchChain: () => ports.switchChain(),
      findRefusal: (call) => ports.findRefusal(call),
      send: (call) => ports.send(call),
      hasSentNothing: (error) => ports.hasSentNothing(error),
      isDone: () => this.isOnChain(),
    });
  }

  get state(): ReadonlySignal<State> {
    return this.current;
  }

  get failure(): ReadonlySignal<Failure | null> {
    return this.stopped;
  }

  get isRunning(): ReadonlySignal<boolean> {
    return this.running;
  }

  /** Whether another tab runs the work; this tab follows its stored state. */
  get isElsewhere(): ReadonlySignal<boolean> {
    return this.elsewhere;
  }

  /** Who does not respond at the moment. */
  get note(): ReadonlySignal<string | null> {
    return this.retries.note;
  }

  /** Do the next step. */
  protected abstract perform(): Promise<void>;

  /** Whether the next step asks the wallet for something: after a reload, the author starts it. */
  protected abstract needsAuthor(): boolean;

  /** Whether the chain has the effect of the transaction. Retries on its own. */
  protected abstract isOnChain(): Promise<boolean>;

  /** Resume: continue unless the wallet has to be asked, or follow the tab that runs it. */
  async attend(): Promise<void> {
    if (this.running.value || this.elsewhere.value) return;
    if (await this.ports.isLocked()) {
      if (this.running.value || this.elsewhere.value) return;
      this.elsewhere.value = true;
      await this.ports.isFree();
      this.elsewhere.value = false;
      this.refresh();
      return this.attend();
    }
    this.refresh();
    if (!this.isDone && !this.needsAuthor()) await this.act(() => undefined, false);
  }

  /** Adopt the state that another tab has stored. */
  refresh(): void {
    const kept = this.running.value ? null : this.ports.recall();
    if (!kept || this.isAt(kept)) return;
    this.current.value = kept;
    this.stopped.value = null;
  }

  /** Continue until the work is done or the author is needed. */
  async run(): Promise<void> {
    await this.act(() => undefined);
  }

  /** The author knows that nothing was sent or the transaction is lost: ask the wallet again. */
  async askAgain(): Promise<void> {
    const doubted = this.current.value;
    await this.act(() => {
      // The author does not mean a transaction that another tab has sent meanwhile.
      if (this.isAt(doubted)) this.sentStep.giveUp();
    });
  }

  /** Have the wallet switch to the right chain, then continue. */
  async switchChain(): Promise<void> {
    await this.act(() => this.ports.switchChain());
  }

  /** Run the next step; a step that asks the wallet runs only if the author requested it. */
  protected async act(first: () => Promise<void> | void, isAsked = true): Promise<void> {
    if (this.running.value) return;
    const release = await this.ports.lock();
    if (!release) return this.attend();
    this.refresh();
    this.running.value = true;
    this.stopped.value = null;
    try {
      await first();
      while (!this.isDone) {
        // Another tab may have returned to such a step before this one had the lock.
        if (!isAsked && this.needsAuthor()) break;
        await this.perform();
      }
    } catch (error) {
      this.stopped.value = error instanceof Stopped ? error.failure : this.ports.explain(error);
    } finally {
      this.running.value = false;
      release();
    }
  }

  protected move(event: OwnEvent | SendingEvent): void {
    const next = this.advance(this.current.value, event);
    this.ports.keep(next);
    this.current.value = next;
  }

  /** Forget the transaction, as it cannot succeed or is known to be gone. */
  protected giveUp(): void {
    this.sentStep.giveUp();
  }

  /**
   * Send the transaction, or find out its outcome: its receipt, or null if the chain already has
   * the effect. Throws `Stopped` otherwise.
   */
  protected async transact(): Promise<Receipt | null> {
    const outcome = await this.sentStep.run();
    switch (outcome.kind) {
      case "done":
        return null;
      case "mined":
        return outcome.receipt;
      case "refused":
        throw new Stopped({ sentence: outcome.sentence, actions: ["retry", "edit"] });
      case "reverted":
        return this.explainRevert();
      case "doubt":
        throw new Stopped(DOUBTS[outcome.doubt]);
    }
  }

  protected async explainRevert(): Promise<never> {
    const call = this.ports.call(this.current.value);
    const why = await this.ports.findRefusal(call).catch(() => null);
    throw new Stopped({
      sentence: why ?? WORDS.transactionFailedChainPerhaps,
      actions: ["retry", "edit"],
    });
  }

  private get isDone(): boolean {
    return this.current.value.step === "done";
  }

  private isAt(state: State): boolean {
    return JSON.stringify(state) === JSON.stringify(this.current.value);
  }
}

export type StepState = "ahead" | "now" | "failed" | "done";

/** The state of each step when the work is at one of them, or done. */
export function stepStates(
  steps: readonly string[],
  present: string,
  failed: boolean,
): StepState[] {
  const at = present === "done" ? steps.length : steps.indexOf(present);
  return steps.map((_, index) => {
    if (index < at) return "done";
    return index > at ? "ahead" : failed ? "failed" : "now";
  });
}
