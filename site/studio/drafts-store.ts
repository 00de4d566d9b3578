/** The drafts of the account: what the service has, page by page, and what only this browser has. */

import { batch, computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import type { HostedFile, Page } from "imprint-press";
import { imprint } from "../page/service.ts";
import { recall, remember } from "../page/storage.ts";
import { account, session } from "../wallet/index.ts";
import { type CopyLine, type DraftEntry, mergeDrafts, type Publication } from "./draft-entries.ts";
import { countWords, titleOf } from "./draft-text.ts";
import { localCopies } from "./indexed-copies.ts";
import type { LocalCopy } from "./local-copies.ts";
import { route } from "./routes.ts";
import { forgetRequests, keepSummary, recallSummaries, summaries, summaryOf } from "./summaries.ts";
import { hearTabs } from "./tabs.ts";

export type { DraftEntry } from "./draft-entries.ts";
export { localCopies } from "./indexed-copies.ts";

type Listing =
  | { readonly state: "unloaded" | "loading" | "partial" | "complete" }
  | { readonly state: "failed"; readonly error: unknown };

const files = signal<readonly HostedFile[]>([]);
const copies = signal<readonly CopyLine[]>([]);
const publications = signal<ReadonlyMap<string, Publication>>(new Map());
const listed = signal<Listing>({ state: "unloaded" });
let nextPageToken: string | null = null;

/** The address of the account in lower case, or null. */
export const author = computed(() => account.value?.address.toLowerCase() ?? null);

/** Whether there is a session of this very account: lists and texts of the service need it. */
export const isSignedIn = computed(
  () => author.value !== null && session.value?.address.toLowerCase() === author.value,
);

/** All drafts that are known so far, the latest change first. */
export const drafts: ReadonlySignal<readonly DraftEntry[]> = computed(() =>
  mergeDrafts(files.value, copies.value, summaries.value, publications.value, {
    isComplete: listed.value.state === "complete",
  }),
);

/** How much of the service's list is there. */
export const listing: ReadonlySignal<Listing> = listed;

/** Load the first page again, or for the first time. */
export async function reloadDrafts(): Promise<void> {
  await loadPage(() => imprint.listDrafts(ownList()).page(), { isFirst: true });
}

/** Load the next page, if there is one. */
export async function loadMoreDrafts(): Promise<void> {
  const token = nextPageToken;
  if (token === null) return;
  await loadPage(() => imprint.listDrafts(ownList()).page(token), { isFirst: false });
}

const ownList = (): { owner?: string } => (author.value ? { owner: author.value } : {});

async function loadPage(
  ask: () => Promise<Page<HostedFile>>,
  { isFirst }: { isFirst: boolean },
): Promise<void> {
  const asked = author.value;
  if (!isSignedIn.value || listed.value.state === "loading") return;
  const before = listed.value;
  listed.value = { state: "loading" };
  try {
    const page = await ask();
    if (author.value !== asked) return;
    batch(() => {
      nextPageToken = page.nextPageToken;
      files.value = isFirst ? page.items : withNewer(files.value, page.items);
      listed.value = { state: nextPageToken === null ? "complete" : "partial" };
    });
    void recallSummaries(page.items.map(({ cid }) => cid));
  } catch (error) {
    if (author.value === asked) listed.value = { state: "failed", error };
  } finally {
    if (author.value === asked && listed.value.state === "loading") listed.value = before;
  }
}

/** The latest version of a draft that the service has, asked anew; null if it has none.
 *
 * `base` is a version that it has no more. The list has the newest versions first, so what took
 * its place stands before everything that is older.
 */
export async function findHead(groupId: string, base?: string): Promise<HostedFile | null> {
  const before = files.value.find(({ cid }) => cid === base)?.created_at;
  for await (const { items } of imprint.listDrafts(ownList()).pages()) {
    const found = items.find((file) => file.group_id === groupId);
    if (found) {
      keepFile(found);
      return found;
    }
    const last = items.at(-1);
    if (before && last && last.created_at < before) return null;
  }
  return null;
}

/** A draft by its key: loads pages until it is there; null if there is none. */
export async function findDraft(key: string): Promise<DraftEntry | null> {
  await refreshCopies();
  const known = () => drafts.value.find((draft) => draft.key === key) ?? null;
  if (known()?.file || !isSignedIn.value) return known();
  if (!known()?.isLocal) await findHead(key);
  return known();
}

/** The text of a draft: that of this browser if it has unsaved changes, else the service's. */
export async function readContent(draft: DraftEntry): Promise<string> {
  const owned = author.value ? await localCopies.list(author.value) : [];
  const own = owned.filter((copy) => copy.key === draft.key).sort(byTime);
  const unsaved = own.find((copy) => !copy.isSaved);
  if (unsaved) return unsaved.content;
  const kept = own.find((copy) => copy.base === draft.cid);
  if (kept) return kept.content;
  if (!draft.cid) return "";
  const { content } = await imprint.readDraft(draft.cid);
  keepSummary(summaryOf(draft.cid, content));
  return content;
}

const byTime = (one: LocalCopy, other: LocalCopy): number => other.changedAt - one.changedAt;

/** The record of a draft, if it is among those that were loaded. */
export const knownFile = (groupId: string): HostedFile | null =>
  files.value.find((file) => file.group_id === groupId) ?? null;

/** Take over a record that a write or a read returned. */
function keepFile(file: HostedFile): void {
  files.value = withNewer(files.value, [file]);
}

/** Forget a draft that the service no longer has. */
export function dropFile(groupId: string): void {
  files.value = files.value.filter((file) => file.group_id !== groupId);
}

/** Say that a draft is being published, or is on the chain; null takes it back. */
export function markPublication(key: string, publication: Publication | null): void {
  const marked = new Map(publications.value);
  if (publication) marked.set(key, publication);
  else marked.delete(key);
  publications.value = marked;
  if (author.value) remember(publicationsKey(author.value), marked.size ? [...marked] : null);
}

const publicationsKey = (address: string): string => `imprint.publications.${address}`;

/** Read again what this browser has. */
export async function refreshCopies(): Promise<void> {
  const asked = author.value;
  const found = asked ? await localCopies.list(asked).catch(() => []) : [];
  if (author.value !== asked) return;
  copies.value = found.map(({ content, ...copy }) => ({
    ...copy,
    title: titleOf(content),
    words: countWords(content),
  }));
}

/** A copy has changed: the list shows it. Elsewhere it is read when the list is opened, because
 *  copies change all the time while one writes. */
export function followCopies(): void {
  if (route.peek().view === "drafts") void refreshCopies();
}

function withNewer(known: readonly HostedFile[], more: readonly HostedFile[]): HostedFile[] {
  const byGroup = new Map(known.map((file) => [file.group_id, file]));
  for (const file of more) {
    const other = byGroup.get(file.group_id);
    if (!other || other.created_at <= file.created_at) byGroup.set(file.group_id, file);
  }
  return [...byGroup.values()];
}

// Another account: nothing of the earlier one stays.
effect(() => {
  const address = author.value;
  batch(() => {
    files.value = [];
    copies.value = [];
    publications.value = new Map(
      address ? (recall<[string, Publication][]>(publicationsKey(address)) ?? []) : [],
    );
    listed.value = { state: "unloaded" };
    nextPageToken = null;
  });
  forgetRequests();
  if (address) void refreshCopies();
});

effect(() => {
  if (isSignedIn.value) queueMicrotask(reloadDrafts);
});

hearTabs(({ account: address, kind }) => {
  if (address !== author.peek() || kind === "present" || kind === "opened") return;
  followCopies();
  if (kind === "saved" || kind === "removed") void reloadDrafts();
});
