/** Drafts that were deleted moments ago, and can be brought back. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { Timers } from "../saves/open-draft.ts";

/** How long a deletion can be undone, in seconds. */
export const UNDO_SECONDS = 10;

export interface DeletedDraft {
  /** The key of the draft before its deletion. */
  readonly key: string;
  readonly name: string;
  readonly account: string;
  readonly content: string;
}

export class RecentDeletions {
  private readonly shown = signal<readonly DeletedDraft[]>([]);

  constructor(private readonly timers: Pick<Timers, "set">) {}

  /** The deletions that can still be undone, latest first. */
  get drafts(): ReadonlySignal<readonly DeletedDraft[]> {
    return this.shown;
  }

  add(draft: DeletedDraft): void {
    this.shown.value = [draft, ...this.shown.value];
    this.timers.set(() => this.take(draft), UNDO_SECONDS);
  }

  /** Remove a deletion from the list; false if it is too late to undo it. */
  take(draft: DeletedDraft): boolean {
    const left = this.shown.value.filter((each) => each !== draft);
    const isThere = left.length < this.shown.value.length;
    if (isThere) this.shown.value = left;
    return isThere;
  }
}
