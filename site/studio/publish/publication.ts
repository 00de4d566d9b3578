/** Publishing a draft: runs the tasks of its progress, one after the other, and keeps each result. */

import { type ReadonlySignal, signal } from "@preact/signals";
import type { Address, Call, Hex } from "imprint-press";
import { createdPostId, type Receipt } from "imprint-press";
import { type Failure, LOST, Stopped, UNMINED } from "./failure.ts";
import type { Entry } from "./marketplace-entries.ts";
import { Patience, type Waiting } from "./patience.ts";
import {
  advance,
  needsAuthor,
  nextTask,
  type Progress,
  type ProgressEvent,
  type Task,
} from "./progress.ts";
import { type Chain, followTransaction, searchTransaction } from "./sent-transaction.ts";

/** What a publication needs from the Studio, the service, the wallet and the chain. */
export interface PublicationWorld extends Waiting {
  readonly marketplace: Address;
  readonly chain: Chain;
  /** The cid of the newest text, saved if need be; `isNew` makes a version of its own. */
  save(isNew: boolean): Promise<{ cid: string } | { postId: string }>;
  /** The cid of the picture; null if the version is no longer a draft. */
  upload(progress: Progress): Promise<string | null>;
  call(progress: Progress): Call;
  findEntry(cid: string): Promise<Entry | null>;
  /** Have the wallet switch to the chain of the service; it may ask its owner. */
  switchChain(): Promise<void>;
  send(call: Call): Promise<Hex>;
  /** Whether a failed `send` has surely sent nothing. */
  hasSentNothing(error: unknown): boolean;
  /** Why the contract would refuse this call now. */
  findRefusal(call: Call): Promise<string | null>;
  isListed(postId: string, cid: string): Promise<boolean>;
  keep(progress: Progress): void;
  /** What is kept, perhaps by another tab. */
  recall(): Progress | null;
  /** Keep other tabs from running this; the result ends that, and is null if one of them runs it. */
  lock(): Promise<(() => void) | null>;
  /** Whether a tab runs this. */
  isLocked(): Promise<boolean>;
  /** Resolves as soon as no other tab runs this. */
  isFree(): Promise<void>;
  explain(error: unknown): Failure;
}

/** Looks at the service's list before the author is told that it takes long. */
const LOOKS = 120;

export class Publication {
  private readonly state;
  private readonly stopped = signal<Failure | null>(null);
  private readonly running = signal(false);
  private readonly elsewhere = signal(false);
  private readonly patience: Patience;
  private needsNewVersion = false;

  constructor(
    progress: Progress,
    private readonly world: PublicationWorld,
  ) {
    this.state = signal(progress);
    this.patience = new Patience(world);
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

  /** Whether another tab runs it; this one follows what that one keeps. */
  get isElsewhere(): ReadonlySignal<boolean> {
    return this.elsewhere;
  }

  /** Who does not respond at the moment. */
  get note(): ReadonlySignal<string | null> {
    return this.patience.note;
  }

  /** Take it up: go on unless the wallet has to be asked, or follow the tab that runs it. */
  async attend(): Promise<void> {
    if (this.running.value || this.elsewhere.value) return;
    if (await this.world.isLocked()) {
      if (this.running.value || this.elsewhere.value) return;
      this.elsewhere.value = true;
      await this.world.isFree();
      this.elsewhere.value = false;
      this.refresh();
      return this.attend();
    }
    this.refresh();
    if (this.task !== null && !needsAuthor(this.task)) await this.act(() => undefined, false);
  }

  /** Take over what another tab has kept. */
  refresh(): void {
    const kept = this.running.value ? null : this.world.recall();
    if (!kept || JSON.stringify(kept) === JSON.stringify(this.state.value)) return;
    this.state.value = kept;
    this.stopped.value = null;
  }

  /** Go on until it is done or the author is needed. */
  async run(): Promise<void> {
    await this.act(() => undefined);
  }

  /** The author knows that the wallet has sent nothing, or that it is lost: ask it again. */
  async askAgain(): Promise<void> {
    await this.act(() => {
      if (this.task === "search") this.move({ type: "declined" });
      else if (this.task === "follow") this.move({ type: "ended" });
    });
  }

  /** Save the text under another cid, and publish that. */
  async publishNewVersion(): Promise<void> {
    await this.act(() => {
      // Whatever was sent for this cid, the marketplace refuses it: it is somebody else's.
      if (this.task === "search") this.move({ type: "declined" });
      else if (this.task === "follow") this.move({ type: "ended" });
      this.move({ type: "taken" });
      this.needsNewVersion = true;
    });
  }

  /** Have the wallet switch to the right chain, then go on. */
  async switchChain(): Promise<void> {
    await this.act(() => this.world.switchChain());
  }

  /** Run tasks; those that ask the wallet only if the author has asked for it. */
  private async act(first: () => Promise<void> | void, isAsked = true): Promise<void> {
    if (this.running.value) return;
    const release = await this.world.lock();
    if (!release) return this.attend();
    this.refresh();
    this.running.value = true;
    this.stopped.value = null;
    try {
      await first();
      for (let task = this.task; task !== null; task = this.task) {
        // Another tab may have come back to such a task before this one had the lock.
        if (!isAsked && needsAuthor(task)) break;
        await this.perform(task);
      }
    } catch (error) {
      this.stopped.value = error instanceof Stopped ? error.failure : this.world.explain(error);
    } finally {
      this.running.value = false;
      release();
    }
  }

  private get task(): Task {
    return nextTask(this.state.value);
  }

  /** Rename the draft, as its first save does. */
  rename(draftKey: string): void {
    this.move({ type: "renamed", draftKey });
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
    // Wallets refuse to sign for a chain that they are not on.
    await this.world.switchChain();
    const saved = await this.world.save(this.needsNewVersion);
    this.needsNewVersion = false;
    if ("postId" in saved) this.move({ type: "found", postId: saved.postId });
    else this.move({ type: "saved", cid: saved.cid });
  }

  private async upload(): Promise<void> {
    await this.world.switchChain();
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
    const { world, patience } = this;
    await patience.ask(() => world.switchChain());
    if (await this.find()) return;
    const call = world.call(this.state.value);
    const refusal = await patience.ask(() => world.findRefusal(call));
    if (refusal !== null) throw new Stopped({ sentence: refusal, actions: ["retry", "edit"] });
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

  /** A wallet was asked and we do not know what it did: look at the chain. */
  private async search(): Promise<void> {
    const nonce = this.state.value.asked?.nonce ?? 0;
    const isDone = () => this.find();
    const found = await searchTransaction(this.world.chain, this.patience, nonce, isDone);
    if (found === "done") return;
    if (found === "other") this.move({ type: "declined" });
    throw new Stopped(LOST);
  }

  private async follow(): Promise<void> {
    const { transaction: hash, asked } = this.state.value;
    if (!hash) throw new TypeError("There is no transaction to follow.");
    const sent = { hash, nonce: asked?.nonce ?? 0 };
    const followed = await followTransaction(this.world.chain, this.patience, sent);
    if (followed.kind === "mined") return this.settle(followed.receipt);
    // A wallet that speeds up sends another transaction to the same end.
    if (await this.find()) return;
    if (followed.kind === "replaced") this.move({ type: "ended" });
    throw new Stopped(UNMINED[followed.kind]);
  }

  private async settle(receipt: Receipt): Promise<void> {
    const postId = createdPostId(receipt, this.world.marketplace);
    if (receipt.status === "success" && postId) return this.move({ type: "found", postId });
    this.move({ type: "ended" });
    if (await this.find()) return;
    const why = await this.world.findRefusal(this.world.call(this.state.value)).catch(() => null);
    throw new Stopped({
      sentence: why ?? "The transaction failed on the chain, perhaps for lack of gas.",
      actions: ["retry", "edit"],
    });
  }

  private async wait(): Promise<void> {
    const { postId, cid } = this.state.value;
    for (let look = 0; look < LOOKS; look += 1) {
      if (postId && (await this.patience.ask(() => this.world.isListed(postId, cid ?? "")))) {
        return this.move({ type: "listed" });
      }
      await this.patience.rest(look);
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
    const entry = cid ? await this.patience.ask(() => this.world.findEntry(cid)) : null;
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
