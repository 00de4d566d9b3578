/** Where the key of a writing session is stored between visits. */

import type { Address, WritingSessionRecord } from "./records.js";

export interface StoredKey {
  session: WritingSessionRecord;
  /** Not extractable: it can be used on this origin, but no script can read it. */
  privateKey: CryptoKey;
}

/** One key per service and wallet. */
export interface KeyStore {
  load(service: string, wallet: Address): Promise<StoredKey | null>;
  save(service: string, wallet: Address, key: StoredKey): Promise<void>;
  remove(service: string, wallet: Address): Promise<void>;
}

/** Keys in memory, which are lost when the page or the process ends. */
export class MemoryKeyStore implements KeyStore {
  private readonly keys = new Map<string, StoredKey>();

  async load(service: string, wallet: Address): Promise<StoredKey | null> {
    return this.keys.get(nameKey(service, wallet)) ?? null;
  }

  async save(service: string, wallet: Address, key: StoredKey): Promise<void> {
    this.keys.set(nameKey(service, wallet), key);
  }

  async remove(service: string, wallet: Address): Promise<void> {
    this.keys.delete(nameKey(service, wallet));
  }
}

/** Keys in IndexedDB, which can store non-extractable keys. */
export class BrowserKeyStore implements KeyStore {
  constructor(private readonly database = "imprint") {}

  async load(service: string, wallet: Address): Promise<StoredKey | null> {
    const found = await this.run("readonly", (keys) => keys.get(nameKey(service, wallet)));
    return (found as StoredKey | undefined) ?? null;
  }

  async save(service: string, wallet: Address, key: StoredKey): Promise<void> {
    await this.run("readwrite", (keys) => keys.put(key, nameKey(service, wallet)));
  }

  async remove(service: string, wallet: Address): Promise<void> {
    await this.run("readwrite", (keys) => keys.delete(nameKey(service, wallet)));
  }

  private async run<T>(
    mode: IDBTransactionMode,
    ask: (keys: IDBObjectStore) => IDBRequest<T>,
  ): Promise<T> {
    const opening = indexedDB.open(this.database, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("keys");
    const database = await settle(opening);
    try {
      const transaction = database.transaction("keys", mode);
      const done = new Promise((resolve, reject) => {
        transaction.oncomplete = resolve;
        transaction.onabort = () => reject(transaction.error);
      });
      const [result] = await Promise.all([settle(ask(transaction.objectStore("keys"))), done]);
      return result;
    } finally {
      database.close();
    }
  }
}

const nameKey = (service: string, wallet: Address): string => `${service} ${wallet.toLowerCase()}`;

const settle = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
