/** The copies of texts in IndexedDB. */

import { type CopyStore, type LocalCopy, StorageFull, type Summary } from "./local-copies.ts";

const DATABASE = "imprint-studio";
const COPIES = "copies";
const SUMMARIES = "summaries";

export class IndexedCopies implements CopyStore {
  private opened: Promise<IDBDatabase> | null = null;

  async list(account: string): Promise<LocalCopy[]> {
    const own = IDBKeyRange.bound([account], [account, []]);
    return (await this.run(COPIES, "readonly", (store) => store.getAll(own))) as LocalCopy[];
  }

  async put(copy: LocalCopy): Promise<void> {
    await this.run(COPIES, "readwrite", (store) => store.put(copy));
  }

  async remove({ account, key, tab }: Pick<LocalCopy, "account" | "key" | "tab">): Promise<void> {
    await this.run(COPIES, "readwrite", (store) => store.delete([account, key, tab]));
  }

  async summary(cid: string): Promise<Summary | null> {
    const found = await this.run(SUMMARIES, "readonly", (store) => store.get(cid));
    return (found as Summary | undefined) ?? null;
  }

  async putSummary(summary: Summary): Promise<void> {
    await this.run(SUMMARIES, "readwrite", (store) => store.put(summary));
  }

  private async run<T>(
    name: string,
    mode: IDBTransactionMode,
    ask: (store: IDBObjectStore) => IDBRequest<T>,
  ): Promise<T> {
    const database = await this.open();
    return new Promise((resolve, reject) => {
      // Strict: a copy is on the disk before it counts as kept.
      const transaction = database.transaction(name, mode, { durability: "strict" });
      const request = ask(transaction.objectStore(name));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(translate(transaction.error ?? request.error));
    });
  }

  private open(): Promise<IDBDatabase> {
    this.opened ??= new Promise<IDBDatabase>((resolve, reject) => {
      const opening = indexedDB.open(DATABASE, 1);
      opening.onupgradeneeded = () => {
        opening.result.createObjectStore(COPIES, { keyPath: ["account", "key", "tab"] });
        opening.result.createObjectStore(SUMMARIES, { keyPath: "cid" });
      };
      opening.onerror = () => reject(translate(opening.error));
      opening.onsuccess = () => {
        const database = opening.result;
        const forget = () => {
          this.opened = null;
        };
        database.onclose = forget;
        database.onversionchange = () => {
          database.close();
          forget();
        };
        resolve(database);
      };
    }).catch((error) => {
      this.opened = null;
      throw error;
    });
    return this.opened;
  }
}

/** The copies of this browser. */
export const localCopies = new IndexedCopies();

const translate = (error: DOMException | null): Error =>
  error?.name === "QuotaExceededError"
    ? new StorageFull("This browser has no room for another copy.", { cause: error })
    : (error ?? new Error("The storage of this browser failed."));
