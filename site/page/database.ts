/** A database in this browser (IndexedDB), opened on first use. */

import { WORDS } from "./words.ts";

/** This browser has no room for the data. */
export class StorageFull extends Error {
  override readonly name = "StorageFull";
}

export class BrowserDatabase {
  private opened: Promise<IDBDatabase> | null = null;

  constructor(
    private readonly name: string,
    private readonly create: (database: IDBDatabase) => void,
  ) {}

  /**
   * Run a request on one store. Resolves once the transaction is complete; throws `StorageFull`, or
   * the browser's error.
   */
  async run<T>(
    store: string,
    mode: IDBTransactionMode,
    ask: (store: IDBObjectStore) => IDBRequest<T>,
  ): Promise<T> {
    const database = await this.open();
    return new Promise((resolve, reject) => {
      // Strict: it is on disk before it counts as stored.
      const transaction = database.transaction(store, mode, { durability: "strict" });
      const request = ask(transaction.objectStore(store));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(translate(transaction.error ?? request.error));
    });
  }

  private open(): Promise<IDBDatabase> {
    this.opened ??= this.connect().catch((error) => {
      this.opened = null;
      throw error;
    });
    return this.opened;
  }

  private async connect(): Promise<IDBDatabase> {
    const database = await new Promise<IDBDatabase>((resolve, reject) => {
      const request = indexedDB.open(this.name, 1);
      request.onupgradeneeded = () => this.create(request.result);
      request.onerror = () => reject(translate(request.error));
      request.onsuccess = () => resolve(request.result);
    });
    database.onclose = () => {
      this.opened = null;
    };
    database.onversionchange = () => {
      database.close();
      this.opened = null;
    };
    return database;
  }
}

const translate = (error: DOMException | null): Error =>
  error?.name === "QuotaExceededError"
    ? new StorageFull(WORDS.browserNoSpaceLeft, { cause: error })
    : (error ?? new Error(WORDS.browsersStorageFailed));
