/**
 * What lists show of a version without its text: stored in this browser, otherwise read when
 * visible.
 */

import { type ReadonlySignal, signal } from "@preact/signals";
import { imprint } from "../../page/service.ts";
import { countWords, titleOf } from "./draft-text.ts";
import { localCopies, type Summary } from "./local-copies.ts";

/** How many texts are read at once: each may be megabytes long. */
const READ_AT_ONCE = 3;

const known = signal<ReadonlyMap<string, Summary>>(new Map());
const waiting = new Set<string>();
const running = new Set<string>();

/** The known summaries, by cid. */
export const summaries: ReadonlySignal<ReadonlyMap<string, Summary>> = known;

export const summaryOf = (cid: string, content: string): Summary => ({
  cid,
  title: titleOf(content),
  words: countWords(content),
});

/** Store what lists show of a version. */
export function keepSummary(summary: Summary): void {
  show([summary]);
  // Only saves a request later.
  localCopies.putSummary(summary).catch(() => undefined);
}

/** Show what this browser has stored of these versions, without a request. */
export async function recallSummaries(cids: readonly string[]): Promise<void> {
  const missing = cids.filter((cid) => !known.value.has(cid));
  const found = await Promise.all(missing.map((cid) => localCopies.summary(cid).catch(() => null)));
  show(found.filter((summary) => summary !== null));
}

/** Load the summary of a version, by reading its text if this browser has not stored it. */
export function requestSummary(cid: string): void {
  if (known.value.has(cid) || running.has(cid)) return;
  waiting.add(cid);
  if (running.size < READ_AT_ONCE) void readNext();
}

/** Cancel pending reads: the account has changed. */
export const forgetRequests = (): void => waiting.clear();

async function readNext(): Promise<void> {
  for (const cid of waiting) {
    waiting.delete(cid);
    running.add(cid);
    try {
      await recallSummaries([cid]);
      if (!known.value.has(cid)) {
        keepSummary(summaryOf(cid, (await imprint.readDraft(cid)).content));
      }
    } catch {
      // It is requested again when its line becomes visible again.
    } finally {
      running.delete(cid);
    }
  }
}

function show(found: readonly Summary[]): void {
  if (found.length === 0) return;
  const next = new Map(known.value);
  for (const summary of found) next.set(summary.cid, summary);
  known.value = next;
}
