/** One line per draft, from the records of the service and the copies of this browser. */

import type { HostedFile } from "imprint-press";
import { isLocalKey, type LocalCopy, type Summary } from "./local-copies.ts";

/** `local`: only this browser has the draft. `changed`: the service lacks its changes. */
export type DraftState = "local" | "saved" | "changed" | "publishing" | "published";

export interface Publication {
  readonly state: "publishing" | "published";
  /** The id of the post, as soon as it is known. */
  readonly postId?: string;
}

/** A copy without its text. */
export type CopyLine = Omit<LocalCopy, "content"> & {
  readonly title: string;
  readonly words: number;
};

export interface DraftEntry {
  /** The same across all versions: the group of the record, or `local-…`. */
  readonly key: string;
  /** Whether the service has never had the draft. */
  readonly isLocal: boolean;
  /** The latest known version of the service. */
  readonly file: HostedFile | null;
  readonly cid: string | null;
  readonly state: DraftState;
  /** Null while the title is unknown; empty if the text has none. */
  readonly title: string | null;
  readonly words: number | null;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
  readonly note: string | null;
  readonly postId: string | null;
}

/** All drafts, the latest change first. */
export function mergeDrafts(
  files: readonly HostedFile[],
  copies: readonly CopyLine[],
  summaries: ReadonlyMap<string, Summary>,
  publications: ReadonlyMap<string, Publication>,
  { isComplete }: { isComplete: boolean },
): DraftEntry[] {
  const copiesOf = new Map<string, CopyLine[]>();
  for (const copy of copies) copiesOf.set(copy.key, [...(copiesOf.get(copy.key) ?? []), copy]);
  const entries = files.map((file) => {
    const copy = latest(copiesOf.get(file.group_id) ?? [], file.cid);
    copiesOf.delete(file.group_id);
    return entryOf(file.group_id, file, copy, summaries, publications);
  });
  for (const [key, own] of copiesOf) {
    const copy = latest(own, null);
    // A text that the service had and no longer has was published or deleted elsewhere.
    if (copy && (isLocalKey(key) || !copy.isSaved || !isComplete)) {
      entries.push(entryOf(key, null, copy, summaries, publications));
    }
  }
  return entries.sort((one, other) => other.changedAt - one.changedAt);
}

/** The latest unsaved copy, otherwise the one of this version. */
function latest(copies: readonly CopyLine[], cid: string | null): CopyLine | null {
  const byTime = [...copies].sort((one, other) => other.changedAt - one.changedAt);
  const saved = byTime.find((copy) => cid === null || copy.base === cid);
  return byTime.find((copy) => !copy.isSaved) ?? saved ?? null;
}

function entryOf(
  key: string,
  file: HostedFile | null,
  copy: CopyLine | null,
  summaries: ReadonlyMap<string, Summary>,
  publications: ReadonlyMap<string, Publication>,
): DraftEntry {
  const cid = file?.cid ?? copy?.base ?? null;
  const summary = copy ?? (cid === null ? null : (summaries.get(cid) ?? null));
  const publication = publications.get(key) ?? null;
  const isChanged = copy !== null && !copy.isSaved;
  return {
    key,
    isLocal: isLocalKey(key),
    file,
    cid,
    state: publication?.state ?? (isLocalKey(key) ? "local" : isChanged ? "changed" : "saved"),
    title: summary?.title ?? null,
    words: summary?.words ?? null,
    changedAt: isChanged || !file ? (copy?.changedAt ?? 0) : Date.parse(file.created_at),
    note: copy?.note ?? null,
    postId: publication?.postId ?? file?.post_id ?? null,
  };
}
