/** Publishing a draft: runs the tasks of its progress, one after the other, and keeps each result. */

import { type ReadonlySignal, signal } from "@preact/signals";
import type { Address, Call, Hex } from "imprint-press";
import { createdPostId, type Receipt } from "imprint-press";
import type { Entry } from "./marketplace-entries.ts";
import { advance, nextTask, type Progress, type ProgressEvent, type Task } from "./progress.ts";

/** Why a step stopped, and what the author can do. */
export interface Failure {
  readonly sentence: string;
  /** `new-version` saves the text again under another cid; `ask-again` asks the wallet anew. */
  readonly actions: readonly ("retry" | "ask-again" | "new-version" | "sign-in" | "edit")[];
}

/** A step that stopped for a reason that the author is told. */
export class Stopped extends Error {
  override readonly name = "Stopped";

  constructor(readonly failure: Failure) {
    super(failure.sentence);
  }
}

/** What a publication needs from the Studio, the service, the wallet and the chain. */
export interface PublicationWorld {
  readonly marketplace: Address;
  /** The cid of the newest text, saved if need be; `isNew` makes a version of its own. */
  save(isNew: boolean): Promise<{ cid: string } | { postId: string }>;
  /** The cid of the picture; null if the version is no longer a draft. */
  upload(progress: Progress): Promise<string | null>;
  call(progress: Progress): Call;
  findEntry(cid: string): Promise<Entry | null>;
  /** The right chain and no refusal by the contract. Throws `Stopped`. */
  check(call: Call): Promise<void>;
  countTransactions(which: "latest" | "pending"): Promise<number>;
  send(call: Call): Promise<Hex>;
  /** Whether a failed `send` has surely sent nothing. */
  hasSentNothing(error: unknown): boolean;
  findReceipt(hash: Hex): Promise<Receipt | null>;
  knowsTransaction(hash: Hex): Promise<boolean>;
  /** Why the same call would be refused now. */
  findRefusal(call: Call): Promise<string | null>;
  isListed(postId: string, cid: string): Promise<boolean>;
  keep(progress: Progress): void;
  explain(error: unknown): Failure;
  pause(): Promise<void>;
}

/** How often the chain and the service are asked before the author is. */
const PATIENCE = 120;

const LOST =
  "Your wallet was asked to send the transaction, and its response was lost. The chain has not seen it. If your wallet still shows the request, confirm it there; otherwise ask again.";

export class Publication {
  private readonly state;
  private readonly stopped = signal<Failure | null>(null);
  private readonly running = signal(false);
  private needsNewVersion = false;

  constructor(
    progress: Progress,
    private readonly world: PublicationWorld,
  ) {
    this.state = signal(progress);
  }

  get progress(): ReadonlySignal<Progress> {
    return this.state;
  }

  get failure(): ReadonlySignal<Failure | null> {
    return this.stopped;
  }

  get isRunning(): ReadonlySignal<boolean> {
    return this.running;
  }

  /** Go on until it is done or the author is needed. */
  async run(): Promise<void> {
    if (this.running.value) return;
    this.running.value = true;
    this.stopped.value = null;
    try {
      for (let task = this.task; task !== null; task = this.task) await this.perform(task);
    } catch (error) {
      this.stopped.value = error instanceof Stopped ? error.failure : this.world.explain(error);
    } finally {
      this.running.value = false;
    }
  }

  /** The author knows that the wallet has sent nothing: ask it again. */
  async askAgain(): Promise<void> {
    if (this.running.value) return;
    if (nextTask(this.state.value) === "search") this.move({ type: "declined" });
    await this.run();
  }

  /** Save the text under another cid, and publish that. */
  async publishNewVersion(): Promise<void> {
    if (this.running.value) return;
    this.move({ type: "taken" });
    this.needsNewVersion = true;
    await this.run();
  }

  private get task(): Task {
    return nextTask(this.state.value);
  }

  private move(event: ProgressEvent): void {
    const next = advance(this.state.value, event);
    this.world.keep(next);
    this.state.value = next;
  }

  private perform(task: Exclude<Task, null>): Promise<void> {
    switch (task) {
      case "save":
        return this.save();
      case "upload":
        return this.upload();
      case "send":
        return this.send();
      case "search":
        return this.search();
      case "follow":
        return this.follow();
      case "wait":
        return this.wait();
    }
  }

  private async save(): Promise<void> {
    const saved = await this.world.save(this.needsNewVersion);
    this.needsNewVersion = false;
    if ("postId" in saved) this.move({ type: "found", postId: saved.postId });
    else this.move({ type: "saved", cid: saved.cid });
  }

  private async upload(): Promise<void> {
    const thumbnailCid = await this.world.upload(this.state.value);
    if (thumbnailCid !== null) return this.move({ type: "uploaded", thumbnailCid });
    if (await this.find()) return;
    this.move({ type: "replaced" });
    throw new Stopped({
      sentence: "The text was changed or deleted elsewhere meanwhile. Publish its newest version?",
      actions: ["retry", "edit"],
    });
  }

  private async send(): Promise<void> {
    if (await this.find()) return;
    const call = this.world.call(this.state.value);
    await this.world.check(call);
    this.move({ type: "asked", nonce: await this.world.countTransactions("pending") });
    let hash: Hex;
    try {
      hash = await this.world.send(call);
    } catch (error) {
      if (this.world.hasSentNothing(error)) this.move({ type: "declined" });
      throw error;
    }
    this.move({ type: "sent", transaction: hash });
  }

  /** A wallet was asked and we do not know what it did: look at the chain. */
  private async search(): Promise<void> {
    const asked = this.state.value.asked?.nonce ?? 0;
    for (let turn = 0; turn < PATIENCE; turn += 1) {
      const mined = await this.world.countTransactions("latest");
      const sent = await this.world.countTransactions("pending");
      if (await this.find()) return;
      if (sent <= asked) break;
      if (mined >= sent) {
        // All that the account has sent is mined, and this was not among it.
        this.move({ type: "declined" });
        break;
      }
      await this.world.pause();
    }
    throw new Stopped({ sentence: LOST, actions: ["retry", "ask-again"] });
  }

  private async follow(): Promise<void> {
    const { transaction, asked } = this.state.value;
    if (!transaction) throw new TypeError("There is no transaction to follow.");
    for (let turn = 0; turn < PATIENCE; turn += 1) {
      const receipt = await this.world.findReceipt(transaction);
      if (receipt) return this.settle(receipt);
      const mined = await this.world.countTransactions("latest");
      if (mined > (asked?.nonce ?? 0) && !(await this.world.knowsTransaction(transaction))) {
        // Another transaction took its number: one that does the same, or a cancellation.
        if (await this.find()) return;
        this.move({ type: "ended" });
        throw new Stopped({
          sentence: "The transaction was cancelled or replaced in your wallet. Send it again?",
          actions: ["retry"],
        });
      }
      await this.world.pause();
    }
    throw new Stopped({
      sentence:
        "The transaction is still waiting to be mined. Your wallet can speed it up; nothing has to be sent again.",
      actions: ["retry"],
    });
  }

  private async settle(receipt: Receipt): Promise<void> {
    const postId = createdPostId(receipt, this.world.marketplace);
    if (receipt.status === "success" && postId) return this.move({ type: "found", postId });
    if (await this.find()) return;
    const why = await this.world.findRefusal(this.world.call(this.state.value)).catch(() => null);
    this.move({ type: "ended" });
    throw new Stopped({
      sentence: why ?? "The transaction failed on the chain, perhaps for lack of gas.",
      actions: ["retry"],
    });
  }

  private async wait(): Promise<void> {
    const { postId, cid } = this.state.value;
    for (let turn = 0; turn < PATIENCE; turn += 1) {
      if (postId && (await this.world.isListed(postId, cid ?? ""))) {
        return this.move({ type: "listed" });
      }
      await this.world.pause();
    }
    throw new Stopped({
      sentence:
        "The post is on the chain, but the service has not seen it yet. Nothing has to be sent again.",
      actions: ["retry"],
    });
  }

  /** Take over the author's post if the chain has it. Throws if it is somebody else's. */
  private async find(): Promise<boolean> {
    const { cid, account } = this.state.value;
    const entry = cid ? await this.world.findEntry(cid) : null;
    if (!entry) return false;
    if (entry.author.toLowerCase() === account.toLowerCase()) {
      this.move({ type: "found", postId: entry.postId });
      return true;
    }
    throw new Stopped({
      sentence:
        "Somebody else has published this version of your text on the chain. Save it as a new version, which is yours alone, and publish that.",
      actions: ["new-version"],
    });
  }
}
