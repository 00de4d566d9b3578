/** Finds values that work on this service, once a form that could use them is open. */

import { effect, type ReadonlySignal, signal } from "@preact/signals-core";
import { facts } from "../../page/facts.ts";
import { imprint } from "../../page/service.ts";
import { account, session } from "../../wallet/index.ts";
import type { Exchange } from "./exchange.ts";
import { type Known, learn } from "./known-values.ts";

const current = signal<Known>({});
let isStarted = false;

/** The values known so far. */
export const known: ReadonlySignal<Known> = current;

/** Look for values, now and whenever the account changes. */
export function discover(): void {
  if (isStarted) return;
  isStarted = true;
  void findPosts();
  effect(() => {
    const address = account.value?.address ?? session.value?.address;
    const { address: before, draftCid: _, writingSession: __, ...others } = current.peek();
    if (address === before) return;
    current.value = address ? { ...others, address } : others;
  });
  effect(() => {
    if (session.value) void findDraft();
  });
}

/** Remember the values in a response. */
export function remember(operation: string, exchange: Exchange): void {
  if (exchange.status >= 400) return;
  const next = { ...current.value, ...learn(operation, exchange.text) };
  // Deleted things must not be suggested again.
  if (operation === "deleteDraft") delete next.draftCid;
  if (operation.startsWith("revokeWritingSession")) delete next.writingSession;
  current.value = next;
  if (operation === "deleteDraft" && session.value) void findDraft();
}

async function findPosts(): Promise<void> {
  const asset = document.querySelector<HTMLLinkElement>("link[rel=stylesheet]")?.href;
  const found: Known = asset ? { asset: asset.slice(asset.lastIndexOf("/") + 1) } : {};
  if (facts.features.includes("posts")) {
    const [post, free] = await Promise.all([newest({}), newest({ free: true })]);
    if (post) Object.assign(found, { postId: post.id, author: post.author });
    if (post?.hashtags[0]) found.tag = post.hashtags[0];
    if (post?.thumbnailCid) found.thumbnailCid = post.thumbnailCid;
    if (free) found.freePostId = free.id;
  }
  current.value = { ...found, ...current.value };
}

/** The newest post; null if there is none or it cannot be read: then the examples remain. */
async function newest(query: { free?: boolean }) {
  try {
    for await (const post of imprint.listIndexedPosts({ ...query, limit: 1 })) return post;
  } catch {
    // Not reported: the form shows the examples.
  }
  return null;
}

async function findDraft(): Promise<void> {
  const held = session.peek();
  try {
    for await (const draft of imprint.listDrafts()) {
      // Values of one account are not suggested to the next.
      if (session.peek() !== held) return;
      if (!current.value.draftCid) current.value = { ...current.value, draftCid: draft.cid };
      return;
    }
  } catch {
    // As above.
  }
}
