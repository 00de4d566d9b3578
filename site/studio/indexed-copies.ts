/** The copies of texts in IndexedDB. */

import { BrowserDatabase } from "../page/database.ts";
import type { CopyKey, CopyStore, LocalCopy, Summary } from "./local-copies.ts";

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

  /** Change a copy; with `expected` only if it has this text or is not there, in one transaction. */
  private async change(
    { account, key, tab }: CopyKey,
    expected: string | undefined,
    ask: (store: IDBObjectStore) => IDBRequest,
  ): Promise<boolean> {
    let isOther = false;
    await this.database.run(COPIES, "readwrite", (store) => {
      // At once, as a page that is left has no time for an answer.
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
