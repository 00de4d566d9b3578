/**
 * The service's list of drafts, page by page: one request at a time, and the latest request counts.
 */

import { batch, type ReadonlySignal, signal } from "@preact/signals";
import type { HostedFile, Page } from "imprint-press";

export type Listing =
  | { readonly state: "unloaded" | "loading" | "partial" | "complete" }
  | { readonly state: "failed"; readonly error: unknown };

export class DraftList {
  private readonly known = signal<readonly HostedFile[]>([]);
  private readonly listed = signal<Listing>({ state: "unloaded" });
  private nextPageToken: string | null = null;
  private isLoading = false;
  private isReloadWanted = false;
  /** Counts the lists that were started: responses for an earlier one are dropped. */
  private begun = 0;

  /** `ask` requests a page: the first one without a token. */
  constructor(private readonly ask: (token?: string) => Promise<Page<HostedFile>>) {}

  /** The latest known version of each draft. */
  get files(): ReadonlySignal<readonly HostedFile[]> {
    return this.known;
  }

  /** How much of the list is loaded. */
  get listing(): ReadonlySignal<Listing> {
    return this.listed;
  }

  /** Load or reload the first page; if a page is being loaded, once that is done. */
  async reload(): Promise<void> {
    if (this.isLoading) this.isReloadWanted = true;
    else await this.load();
  }

  /** Load the next page, if there is one. */
  async loadMore(): Promise<void> {
    if (this.nextPageToken !== null && !this.isLoading) await this.load(this.nextPageToken);
  }

  /** Adopt a record that a write or a read returned. */
  keep(file: HostedFile): void {
    this.known.value = withNewer(this.known.peek(), [file]);
  }

  /** Forget a draft that the service no longer has. */
  drop(groupId: string): void {
    // The page that is being loaded may still have it.
    this.isReloadWanted = this.isLoading;
    this.known.value = this.known.peek().filter((file) => file.group_id !== groupId);
  }

  /** Start over, for another account. */
  clear(): void {
    this.begun += 1;
    this.isLoading = false;
    this.isReloadWanted = false;
    this.nextPageToken = null;
    batch(() => {
      this.known.value = [];
      this.listed.value = { state: "unloaded" };
    });
  }

  private async load(token?: string): Promise<void> {
    const { begun } = this;
    this.isLoading = true;
    this.isReloadWanted = false;
    this.listed.value = { state: "loading" };
    const found = await this.ask(token).catch((error: unknown) => ({ error }));
    if (this.begun !== begun) return;
    // The response is outdated for drafts that were saved or deleted since the request.
    if (this.isReloadWanted) return this.load();
    this.isLoading = false;
    if ("error" in found) this.listed.value = { state: "failed", error: found.error };
    else this.show(found, token === undefined);
  }

  private show({ items, nextPageToken }: Page<HostedFile>, isFirst: boolean): void {
    this.nextPageToken = nextPageToken;
    batch(() => {
      this.known.value = isFirst ? items : withNewer(this.known.peek(), items);
      this.listed.value = { state: nextPageToken === null ? "complete" : "partial" };
    });
  }
}

function withNewer(known: readonly HostedFile[], more: readonly HostedFile[]): HostedFile[] {
  const byGroup = new Map(known.map((file) => [file.group_id, file]));
  for (const file of more) {
    const other = byGroup.get(file.group_id);
    if (!other || other.created_at <= file.created_at) byGroup.set(file.group_id, file);
  }
  return [...byGroup.values()];
}
