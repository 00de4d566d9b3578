/**
 * The drafts of the account: those of the service, page by page, and those only in this browser.
 */

import { batch, computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { type HostedFile, Refusal } from "imprint-press";
import { imprint } from "../../page/service.ts";
import { recall, remember } from "../../page/storage.ts";
import { account, session } from "../../wallet/index.ts";
import { route } from "../routes.ts";
import { type CopyLine, type DraftEntry, mergeDrafts, type Publication } from "./draft-entries.ts";
import { DraftList, type Listing } from "./draft-list.ts";
import { countWords, titleOf } from "./draft-text.ts";
import { type LocalCopy, localCopies } from "./local-copies.ts";
import { forgetRequests, keepSummary, recallSummaries, summaries, summaryOf } from "./summaries.ts";
import { hearTabs } from "./tabs.ts";

const list = new DraftList(async (token) => {
  const page = await imprint.listDrafts(ownList()).page(token);
  void recallSummaries(page.items.map(({ cid }) => cid));
  return page;
});
const copies = signal<readonly CopyLine[]>([]);
const publications = signal<ReadonlyMap<string, Publication>>(new Map());

/** The address of the account in lower case, or null. */
export const author = computed(() => account.value?.address.toLowerCase() ?? null);

/** Whether there is a session of this account: lists and texts of the service need it. */
export const isSignedIn = computed(
  () => author.value !== null && session.value?.address.toLowerCase() === author.value,
);

/** All known drafts, the latest change first. */
export const drafts: ReadonlySignal<readonly DraftEntry[]> = computed(() =>
  mergeDrafts(list.files.value, copies.value, summaries.value, publications.value, {
    isComplete: list.listing.value.state === "complete",
  }),
);

/** How much of the service's list is loaded. */
export const listing: ReadonlySignal<Listing> = list.listing;

/** Load or reload the first page. */
export async function reloadDrafts(): Promise<void> {
  if (isSignedIn.value) await list.reload();
}

/** Load the next page, if there is one. */
export async function loadMoreDrafts(): Promise<void> {
  if (isSignedIn.value) await list.loadMore();
}

const ownList = (): { owner?: string } => (author.value ? { owner: author.value } : {});

/**
 * The service's latest version of a draft, freshly requested; null if it has none.
 *
 * `base` is a version that it no longer has. The list has the newest versions first, so its
 * replacement comes before everything older.
 */
export async function findHead(groupId: string, base?: string): Promise<HostedFile | null> {
  const before = list.files.value.find(({ cid }) => cid === base)?.created_at;
  for await (const { items } of imprint.listDrafts(ownList()).pages()) {
    const found = items.find((file) => file.group_id === groupId);
    if (found) {
      list.keep(found);
      return found;
    }
    const last = items.at(-1);
    if (before && last && last.created_at < before) return null;
  }
  return null;
}

/** A draft by its key: loads pages until it is found; null if there is none. */
export async function findDraft(key: string): Promise<DraftEntry | null> {
  await refreshCopies();
  const known = () => drafts.value.find((draft) => draft.key === key) ?? null;
  if (known()?.file || !isSignedIn.value) return known();
  if (!known()?.isLocal) await findHead(key);
  return known();
}

/** The text of a draft: this browser's if it has unsaved changes, otherwise the service's. */
export async function readContent(draft: DraftEntry): Promise<string> {
  const owned = author.value ? await localCopies.list(author.value) : [];
  const own = owned.filter((copy) => copy.key === draft.key).sort(byTime);
  const unsaved = own.find((copy) => !copy.isSaved);
  if (unsaved) return unsaved.content;
  if (!draft.cid) return "";
  try {
    return await readVersion(draft.cid, own);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== "not_found") throw error;
    // It was saved since the list was loaded.
    const head = await findHead(draft.key, draft.cid);
    if (!head) throw error;
    return readVersion(head.cid, own);
  }
}

/** The text of a version: from a copy if there is one, otherwise from the service. */
async function readVersion(cid: string, copies: readonly LocalCopy[]): Promise<string> {
  const kept = copies.find((copy) => copy.base === cid);
  if (kept) return kept.content;
  const { content } = await imprint.readDraft(cid);
  keepSummary(summaryOf(cid, content));
  return content;
}

const byTime = (one: LocalCopy, other: LocalCopy): number => other.changedAt - one.changedAt;

/** The record of a draft, if it is loaded. */
export const knownFile = (groupId: string): HostedFile | null =>
  list.files.value.find((file) => file.group_id === groupId) ?? null;

/** Forget a draft that the service no longer has. */
export const dropFile = (groupId: string): void => list.drop(groupId);

/** Mark a draft as being published or on the chain; null removes the mark. */
export function markPublication(key: string, publication: Publication | null): void {
  const marked = new Map(publications.value);
  if (publication) marked.set(key, publication);
  else marked.delete(key);
  publications.value = marked;
  if (author.value) remember(publicationsKey(author.value), marked.size ? [...marked] : null);
}

const publicationsKey = (address: string): string => `imprint.publications.${address}`;

/** Reload the copies of this browser. */
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

/**
 * A copy has changed: the list shows it. Other views read it when the list is opened, because
 * copies change all the time while the author writes.
 */
export function followCopies(): void {
  if (route.peek().view === "drafts") void refreshCopies();
}

// Another account: nothing of the earlier one remains.
effect(() => {
  const address = author.value;
  batch(() => {
    list.clear();
    copies.value = [];
    publications.value = new Map(
      address ? (recall<[string, Publication][]>(publicationsKey(address)) ?? []) : [],
    );
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
