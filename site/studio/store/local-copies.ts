/** Copies of texts in this browser, written before the service has them. */

import type { SignedWrite } from "imprint-press";
import { BrowserDatabase } from "../../page/database.ts";
import { randomName } from "./random-name.ts";

/** What a tab wrote in a draft, and the service's version that it started from. */
export interface LocalCopy {
  /** The address of the author, in lower case. */
  readonly account: string;
  /** The group of the draft, or `local-…` while the service has never had it. */
  readonly key: string;
  /** The tab that writes: two tabs with one draft have a copy each. */
  readonly tab: string;
  /** The cid that this text is based on; null if the service has none. */
  readonly base: string | null;
  readonly content: string;
  /** Whether the version `base` of the service is exactly this text. */
  readonly isSaved: boolean;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
  /** Why this copy exists separately from its draft, for the list. */
  readonly note?: string;
  /** The last signed write, if its response was lost: it can be sent again. */
  readonly sent?: SentWrite;
}

/** A write whose outcome is unknown. */
export interface SentWrite {
  /** As the client signed it. */
  readonly signed: SignedWrite;
  readonly base: string | null;
  readonly content: string;
  readonly sentAt: number;
}

/** What a list shows of a version without loading it again. */
export interface Summary {
  readonly cid: string;
  readonly title: string;
  readonly words: number;
}

/** The key of a copy. */
export type CopyKey = Pick<LocalCopy, "account" | "key" | "tab">;

/** The store of copies. Rejects with `StorageFull` if there is no more room. */
export interface CopyStore {
  list(account: string): Promise<LocalCopy[]>;
  /**
   * Store a copy. With `expected`, only if the existing copy has this text or there is none; false
   * if the existing copy has another text.
   */
  put(copy: LocalCopy, expected?: string): Promise<boolean>;
  /** Remove a copy; with `expected` only if it has this text. */
  remove(copy: CopyKey, expected?: string): Promise<void>;
  summary(cid: string): Promise<Summary | null>;
  putSummary(summary: Summary): Promise<void>;
}

/** How many texts of the service are kept for reading without a network. */
const KEPT = 20;
const LOCAL = "local-";

export const newLocalKey = (): string => LOCAL + randomName();

/** Whether the service has never had the draft of this key. */
export const isLocalKey = (key: string): boolean => key.startsWith(LOCAL);

/** What a tab that opens a draft finds in this browser. */
interface FoundCopies {
  /** The copy to continue with. */
  readonly mine: LocalCopy | null;
  /** Unsaved copies of closed tabs, which `mine` would otherwise hide. */
  readonly left: readonly LocalCopy[];
}

/**
 * Choose the copy of a draft that a tab continues with: its own, otherwise the latest unsaved one
 * of a closed tab, otherwise a saved one. Open tabs keep their copies.
 */
export function chooseCopy(
  copies: readonly LocalCopy[],
  tab: string,
  isAlive: (tab: string) => boolean,
): FoundCopies {
  const free = copies
    .filter((copy) => copy.tab === tab || !isAlive(copy.tab))
    .sort((one, other) => other.changedAt - one.changedAt);
  const unsaved = free.filter((copy) => !copy.isSaved);
  const own = free.find((copy) => copy.tab === tab);
  const mine = (own && !own.isSaved ? own : unsaved[0]) ?? own ?? free[0] ?? null;
  const left = unsaved.filter((copy) => copy !== mine && copy.content !== mine?.content);
  return { mine, left };
}

/** Remove the oldest copies that the service also has; the others are kept. */
export async function prune(store: CopyStore, account: string): Promise<void> {
  const saved = (await store.list(account))
    .filter((copy) => copy.isSaved)
    .sort((one, other) => other.changedAt - one.changedAt);
  for (const copy of saved.slice(KEPT)) await store.remove(copy);
}

const COPIES = "copies";
const SUMMARIES = "summaries";

class IndexedCopies implements CopyStore {
  private readonly database = new BrowserDatabase("imprint-studio", (database) => {
    database.createObjectStore(COPIES, { keyPath: ["account", "key", "tab"] });
    database.createObjectStore(SUMMARIES, { keyPath: "cid" });
  });

  async list(account: string): Promise<LocalCopy[]> {
    const own = IDBKeyRange.bound([account], [account, []]);
    return (await this.database.run(COPIES, "readonly", (store) =>
      store.getAll(own),
    )) as LocalCopy[];
  }

  async put(copy: LocalCopy, expected?: string): Promise<boolean> {
    return this.change(copy, expected, (store) => store.put(copy));
  }

  async remove(copy: CopyKey, expected?: string): Promise<void> {
    const { account, key, tab } = copy;
    await this.change(copy, expected, (store) => store.delete([account, key, tab]));
  }

  async summary(cid: string): Promise<Summary | null> {
    const found = await this.database.run(SUMMARIES, "readonly", (store) => store.get(cid));
    return (found as Summary | undefined) ?? null;
  }

  async putSummary(summary: Summary): Promise<void> {
    await this.database.run(SUMMARIES, "readwrite", (store) => store.put(summary));
  }

  /**
   * Change a copy; with `expected` only if it has this text or does not exist, in one transaction.
   */
  private async change(
    { account, key, tab }: CopyKey,
    expected: string | undefined,
    ask: (store: IDBObjectStore) => IDBRequest,
  ): Promise<boolean> {
    let isOther = false;
    await this.database.run(COPIES, "readwrite", (store) => {
      // Synchronously: a page that is being closed cannot wait for a response.
      if (expected === undefined) return ask(store);
      const found = store.get([account, key, tab]);
      found.onsuccess = () => {
        const stored = found.result as LocalCopy | undefined;
        isOther = stored !== undefined && stored.content !== expected;
        if (!isOther) ask(store);
      };
      return found;
    });
    return !isOther;
  }
}

/** The copies of this browser. */
export const localCopies = new IndexedCopies();
