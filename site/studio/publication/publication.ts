/**
 * Publishing a draft: runs the tasks of its progress one after the other, and stores each result.
 */

import type { ReadonlySignal } from "@preact/signals";
import { type Address, createdPostId } from "imprint-press";
import type { Entry } from "../../chain/marketplace.ts";
import { Stopped } from "../transactions/failure.ts";
import { type RunnerPorts, StepRunner } from "../transactions/step-runner.ts";
import { WORDS } from "../words.ts";
import { advance, needsAuthor, nextTask, type Progress, type ProgressEvent } from "./progress.ts";

/** What a publication needs from the Studio, the service, the wallet and the chain. */
export interface PublicationPorts extends RunnerPorts<Progress> {
  readonly marketplace: Address;
  /** The cid of the newest text, saved if necessary; `isNew` makes a new version. */
  save(isNew: boolean): Promise<{ cid: string } | { postId: string }>;
  /** The cid of the picture; null if the version is no longer a draft. */
  upload(progress: Progress): Promise<string | null>;
  findEntry(cid: string): Promise<(Pick<Entry, "author"> & { readonly postId: string }) | null>;
  isListed(postId: string, cid: string): Promise<boolean>;
}

/** The number of polls of the service's list before the author is told that this takes longer. */
const MAX_POLLS = 120;

export class Publication extends StepRunner<Progress, ProgressEvent, PublicationPorts> {
  private needsNewVersion = false;

  constructor(progress: Progress, ports: PublicationPorts) {
    super(progress, ports, advance);
  }

  get progress(): ReadonlySignal<Progress> {
    return this.state;
  }

  /** Save the text under another cid, and publish that. */
  async publishNewVersion(): Promise<void> {
    await this.act(() => {
      // The marketplace refuses whatever was sent for this cid: it is somebody else's.
      this.giveUp();
      this.move({ type: "taken" });
      this.needsNewVersion = true;
    });
  }

  /** Rename the draft, as its first save does. */
  rename(draftKey: string): void {
    this.move({ type: "renamed", draftKey });
  }

  protected override needsAuthor(): boolean {
    return needsAuthor(nextTask(this.state.value));
  }

  protected override isOnChain(): Promise<boolean> {
    return this.find();
  }

  protected override async perform(): Promise<void> {
    switch (nextTask(this.state.value)) {
      case "save":
        return this.save();
      case "upload":
        return this.upload();
      case "send":
      case "search":
      case "follow":
        return this.create();
      case "wait":
        return this.wait();
    }
  }

  private async save(): Promise<void> {
    // Wallets refuse to sign for a chain that they are not on.
    await this.ports.switchChain();
    const saved = await this.ports.save(this.needsNewVersion);
    this.needsNewVersion = false;
    if ("postId" in saved) this.move({ type: "found", postId: saved.postId });
    else this.move({ type: "saved", cid: saved.cid });
  }

  private async upload(): Promise<void> {
    await this.ports.switchChain();
    const thumbnailCid = await this.ports.upload(this.state.value);
    if (thumbnailCid !== null) return this.move({ type: "uploaded", thumbnailCid });
    if (await this.find()) return;
    this.move({ type: "replaced" });
    throw new Stopped({
      sentence: WORDS.textChangedOrDeleted,
      actions: ["retry", "edit"],
    });
  }

  private async create(): Promise<void> {
    const receipt = await this.transact();
    if (receipt === null) return;
    const postId = createdPostId(receipt, this.ports.marketplace);
    if (postId) return this.move({ type: "found", postId });
    if (await this.find()) return;
    this.giveUp();
    await this.explainRevert();
  }

  private async wait(): Promise<void> {
    const { postId, cid } = this.state.value;
    for (let poll = 0; poll < MAX_POLLS; poll += 1) {
      if (postId && (await this.retries.ask(() => this.ports.isListed(postId, cid ?? "")))) {
        return this.move({ type: "listed" });
      }
      await this.retries.rest(poll);
    }
    throw new Stopped({
      sentence: WORDS.postChainButHasnt,
      actions: ["retry"],
    });
  }

  /** Adopt the author's post if the chain has it. Throws if it is somebody else's. */
  private async find(): Promise<boolean> {
    const { cid, account } = this.state.value;
    const entry = cid ? await this.retries.ask(() => this.ports.findEntry(cid)) : null;
    if (!entry) return false;
    if (entry.author.toLowerCase() === account.toLowerCase()) {
      this.move({ type: "found", postId: entry.postId });
      return true;
    }
    throw new Stopped({
      sentence: WORDS.someoneElseAlreadyPublished,
      actions: ["new-version"],
    });
  }
}
