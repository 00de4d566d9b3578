/** The state of an import: what was found, what is chosen, and the progress of its drafts. */

import type { FoundPost } from "./formats/found-post.ts";
import { WORDS } from "./words.ts";

/** A post that was imported before, or whose draft is being created, as stored in this browser. */
export interface ImportRecord {
  /** The address of the author, in lower case. */
  readonly account: string;
  /** The source of its post. */
  readonly source: string;
  readonly title: string;
  /** The key of its draft: local until the service has it. */
  readonly key: string;
  /** Whether the service has the draft. */
  readonly isMade: boolean;
}

export type Standing =
  | { readonly kind: "found" }
  /** This browser has the text of the draft, but the service does not. */
  | { readonly kind: "kept"; readonly key: string }
  | { readonly kind: "made"; readonly key: string }
  | { readonly kind: "failed"; readonly sentence: string };

export interface ImportItem {
  readonly source: string;
  readonly title: string;
  /** Null for an item of an earlier visit, whose files are not chosen. */
  readonly post: FoundPost | null;
  readonly isChosen: boolean;
  readonly standing: Standing;
}

export type Phase = "idle" | "reading" | "keeping" | "saving";

export interface ImportState {
  readonly phase: Phase;
  readonly items: readonly ImportItem[];
  /** What the author should know about the files as a whole. */
  readonly notes: readonly string[];
  /** Why the import stopped, or what it waits for. */
  readonly problem: string | null;
  /** Posts read, or drafts created, in this phase. */
  readonly done: number;
  readonly total: number;
}

export type ImportEvent =
  | { readonly kind: "records"; readonly records: readonly ImportRecord[] }
  | { readonly kind: "reading" }
  | { readonly kind: "read"; readonly count: number }
  | {
      readonly kind: "found";
      readonly posts: readonly FoundPost[];
      readonly notes: readonly string[];
      readonly records: readonly ImportRecord[];
    }
  | { readonly kind: "choose"; readonly source: string; readonly isChosen: boolean }
  | { readonly kind: "choose-all"; readonly isChosen: boolean }
  | { readonly kind: "keeping" }
  | { readonly kind: "saving" }
  | { readonly kind: "kept"; readonly source: string; readonly key: string }
  | { readonly kind: "made"; readonly source: string; readonly key: string }
  | { readonly kind: "failed"; readonly source: string; readonly sentence: string }
  | { readonly kind: "forgotten"; readonly source: string }
  | { readonly kind: "waiting"; readonly sentence: string | null }
  | { readonly kind: "stopped"; readonly problem: string | null };

export const NOTHING: ImportState = {
  phase: "idle",
  items: [],
  notes: [],
  problem: null,
  done: 0,
  total: 0,
};

/** Items whose drafts are created next: chosen and interrupted ones. */
export const pendingItems = (state: ImportState): ImportItem[] =>
  state.items.filter(
    ({ standing, isChosen, post }) =>
      standing.kind === "kept" || (isChosen && post !== null && standing.kind !== "made"),
  );

export const countOf = (state: ImportState, kind: Standing["kind"]): number =>
  state.items.filter(({ standing }) => standing.kind === kind).length;

export function reduce(state: ImportState, event: ImportEvent): ImportState {
  switch (event.kind) {
    case "records":
      return { ...state, items: mergeItems(state.items, [], event.records) };
    case "reading":
      return { ...state, phase: "reading", problem: null, notes: [], done: 0, total: 0 };
    case "read":
      return { ...state, done: event.count };
    case "found": {
      const items = mergeItems(state.items, event.posts, event.records);
      const isEmpty = event.posts.length === 0;
      const problem = isEmpty ? WORDS.noPostsFound : null;
      return { ...state, phase: "idle", items, notes: event.notes, problem };
    }
    case "choose":
      return change(state, event.source, { isChosen: event.isChosen });
    case "choose-all":
      return {
        ...state,
        items: state.items.map((item) => ({ ...item, isChosen: event.isChosen })),
      };
    case "keeping":
      return {
        ...state,
        phase: "keeping",
        problem: null,
        done: 0,
        total: pendingItems(state).length,
      };
    case "saving":
      return { ...state, phase: "saving", problem: null, done: 0, total: countOf(state, "kept") };
    case "kept":
      return advance(state, event.source, { kind: "kept", key: event.key });
    case "made":
      return advance(state, event.source, { kind: "made", key: event.key });
    case "failed":
      return advance(state, event.source, { kind: "failed", sentence: event.sentence });
    case "forgotten":
      return change(state, event.source, { standing: { kind: "found" }, isChosen: true });
    case "waiting":
      return { ...state, problem: event.sentence };
    case "stopped":
      return { ...state, phase: "idle", problem: event.problem };
  }
}

const change = (state: ImportState, source: string, part: Partial<ImportItem>): ImportState => ({
  ...state,
  items: state.items.map((item) => (item.source === source ? { ...item, ...part } : item)),
});

const advance = (state: ImportState, source: string, standing: Standing): ImportState => ({
  ...change(state, source, { standing }),
  done: state.done + 1,
});

/** Found posts with their stored records, and interrupted posts of earlier visits. */
function mergeItems(
  items: readonly ImportItem[],
  posts: readonly FoundPost[],
  records: readonly ImportRecord[],
): ImportItem[] {
  const remembered = new Map(records.map((record) => [record.source, record]));
  const merged = new Map(items.filter(({ post }) => !post).map((item) => [item.source, item]));
  for (const { source, title, key, isMade } of records)
    if (!isMade) {
      const standing: Standing = { kind: "kept", key };
      merged.set(source, { source, title, post: null, isChosen: true, standing });
    }
  const known = items.flatMap(({ post }) => (post ? [post] : []));
  for (const post of [...known, ...posts]) {
    const record = remembered.get(post.source);
    merged.set(post.source, {
      source: post.source,
      title: post.title,
      post,
      isChosen: items.find(({ source }) => source === post.source)?.isChosen ?? true,
      standing: record
        ? { kind: record.isMade ? "made" : "kept", key: record.key }
        : { kind: "found" },
    });
  }
  return [...merged.values()];
}
