/** The copies of texts in IndexedDB. */

import { BrowserDatabase } from "../page/database.ts";
import type { CopyStore, LocalCopy, Summary } from "./local-copies.ts";

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

  async put(copy: LocalCopy): Promise<void> {
    await this.database.run(COPIES, "readwrite", (store) => store.put(copy));
  }

  async remove({ account, key, tab }: Pick<LocalCopy, "account" | "key" | "tab">): Promise<void> {
    await this.database.run(COPIES, "readwrite", (store) => store.delete([account, key, tab]));
  }

  async summary(cid: string): Promise<Summary | null> {
    const found = await this.database.run(SUMMARIES, "readonly", (store) => store.get(cid));
    return (found as Summary | undefined) ?? null;
  }

  async putSummary(summary: Summary): Promise<void> {
    await this.database.run(SUMMARIES, "readwrite", (store) => store.put(summary));
  }
}

/** The copies of this browser. */
export const localCopies = new IndexedCopies();
