/** What an open draft needs from the service and the page, and what it tells its views. */

import type { SaveOptions } from "imprint-press";
import type { CopyKey, LocalCopy, SentWrite } from "./local-copies.ts";

/** A version that the service made. */
export interface Version {
  readonly cid: string;
  readonly groupId: string;
  readonly savedAt: string;
}

/** What the service has in place of the version that this tab began with. */
export type Head =
  | { readonly kind: "draft"; readonly version: Version }
  | { readonly kind: "gone"; readonly postId: string | null };

/** What an open draft needs from the service and the wallet. */
export interface DraftService {
  /** Save by the writing session if there is one, else by the wallet, which asks its owner. */
  save(content: string, base: string | null, options: SaveOptions): Promise<Version>;
  /** Send again a write whose response never came. */
  resend(sent: SentWrite, wait: NonNullable<SaveOptions["wait"]>): Promise<Version>;
  /** The present version of a draft. Needs a reader's session. */
  head(groupId: string, base: string): Promise<Head>;
  read(cid: string): Promise<string>;
  /** The version that a create of this text made, if it did. */
  findCreated(content: string, since: number): Promise<Version | null>;
  /** Whether a save would need no prompt. */
  canSignSilently(): boolean;
  sessionEnded(): void;
  explain(error: unknown): string;
  isRefusedForSession(error: unknown): boolean;
  readonly contentLimit: number;
}

/** Timers, so that tests need not wait. */
export interface Timers {
  set(run: () => void, seconds: number): unknown;
  clear(timer: unknown): void;
  now(): number;
}

/** What a draft is opened with: a copy of this browser, or the service's version as one. */
export interface OpenedDraft extends CopyKey, Pick<LocalCopy, "base" | "content" | "isSaved"> {
  readonly sent?: SentWrite | undefined;
  readonly note?: string | undefined;
}

/** What the views around an open draft do when something happens to it. */
export interface DraftEvents {
  /** The text was replaced by another version; unasked if there was nothing of mine to lose. */
  onText(content: string, isAsked: boolean): void;
  /** The service has this text as that version; the author may have typed more meanwhile. */
  onSaved(version: Version, content: string): void;
  /** The open draft has another key: with its first save, or because it begins anew. */
  onKey(key: string): void;
  onCopies(): void;
}
