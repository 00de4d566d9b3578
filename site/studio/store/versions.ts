/** Earlier versions of drafts, kept in this browser so that authors can bring them back. */

import { BrowserDatabase } from "../../page/database.ts";

/** What identifies a version, and its size: enough to decide which ones are kept. */
export interface VersionKey {
  /** The address of the author, in lower case. */
  readonly account: string;
  /** The key of the draft. */
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** In characters. */
  readonly size: number;
}

export interface DraftVersion extends VersionKey {
  readonly content: string;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The minimum milliseconds between two versions of a draft, while it is written. */
const APART = 5 * MINUTE;
/** The maximum number of versions of one draft. */
const MOST = 30;
/** The maximum characters in all versions of an account, including pictures. */
const ROOM = 32 * 1024 * 1024;

/** Whether to keep a text as a version, now that `latest` is the last one. */
export function isDue(latest: DraftVersion | null, content: string, now: number): boolean {
  if (content.trim() === "" || content === latest?.content) return false;
  return latest === null || now - latest.at >= APART;
}

/**
 * The versions of an account to remove. For each draft, all versions of the last hour stay, then
 * the latest of each hour, and after a day the latest of each day; in total, the newest that fit.
 */
export function surplus(versions: readonly VersionKey[], now: number): VersionKey[] {
  const counts = new Map<string, number>();
  const periods = new Set<string>();
  let room = ROOM;
  return [...versions]
    .sort((one, other) => other.at - one.at)
    .filter(({ key, at, size }) => {
      const age = now - at;
      const length = age < HOUR ? 0 : age < DAY ? HOUR : DAY;
      const period = `${key} ${length} ${length ? Math.floor(at / length) : at}`;
      const count = counts.get(key) ?? 0;
      if (periods.has(period) || count >= MOST || size > room) return true;
      periods.add(period);
      counts.set(key, count + 1);
      room -= size;
      return false;
    });
}

/** The store of versions. */
export interface VersionStore {
  /** All versions of an account, without their texts. */
  keys(account: string): Promise<VersionKey[]>;
  read(version: VersionKey): Promise<DraftVersion | null>;
  put(version: DraftVersion): Promise<void>;
  remove(version: VersionKey): Promise<void>;
}

/** The versions of drafts in a store. A store that fails costs versions, never a text. */
export class DraftVersions {
  /** When each draft was last compared, which does not happen at every keystroke. */
  private readonly compared = new Map<string, number>();

  constructor(
    private readonly store: VersionStore,
    private readonly now: () => number,
  ) {}

  /** The versions of a draft, the latest first. */
  async list(account: string, key: string): Promise<DraftVersion[]> {
    const found = await this.keysOf(account, key);
    const read = await Promise.all(found.map((version) => this.store.read(version)));
    return read.filter((version) => version !== null);
  }

  /** Keep a text if it is due; with `isForced`, if it differs from the last version. */
  async record(account: string, key: string, content: string, isForced = false): Promise<void> {
    const now = this.now();
    const before = this.compared.get(key);
    if (!isForced && before !== undefined && now - before < APART) return;
    this.compared.set(key, now);
    const [newest] = await this.keysOf(account, key);
    const latest = newest ? await this.store.read(newest) : null;
    if (!isDue(latest, content, isForced ? Number.POSITIVE_INFINITY : now)) return;
    await this.store.put({ account, key, at: now, size: content.length, content });
    const all = await this.store.keys(account);
    for (const version of surplus(all, now)) await this.store.remove(version);
  }

  /** Move the versions of a draft to its new key. */
  async rename(account: string, from: string, to: string): Promise<void> {
    for (const version of await this.list(account, from)) {
      await this.store.put({ ...version, key: to });
      await this.store.remove(version);
    }
  }

  /** Remove all versions of a draft. */
  async forget(account: string, key: string): Promise<void> {
    for (const version of await this.keysOf(account, key)) await this.store.remove(version);
  }

  private async keysOf(account: string, key: string): Promise<VersionKey[]> {
    const all = await this.store.keys(account);
    return all.filter((version) => version.key === key).sort((one, other) => other.at - one.at);
  }
}

const VERSIONS = "versions";

class IndexedVersions implements VersionStore {
  // The size is part of the key: sizes are known without reading megabytes of texts.
  private readonly database = new BrowserDatabase("imprint-versions", (database) => {
    database.createObjectStore(VERSIONS, { keyPath: ["account", "key", "at", "size"] });
  });

  async keys(account: string): Promise<VersionKey[]> {
    const own = IDBKeyRange.bound([account], [account, []]);
    const found = await this.database.run(VERSIONS, "readonly", (store) => store.getAllKeys(own));
    return (found as [string, string, number, number][]).map(([, key, at, size]) => ({
      account,
      key,
      at,
      size,
    }));
  }

  async read(version: VersionKey): Promise<DraftVersion | null> {
    const found = await this.database.run(VERSIONS, "readonly", (store) =>
      store.get(keyOf(version)),
    );
    return (found as DraftVersion | undefined) ?? null;
  }

  async put(version: DraftVersion): Promise<void> {
    await this.database.run(VERSIONS, "readwrite", (store) => store.put(version));
  }

  async remove(version: VersionKey): Promise<void> {
    await this.database.run(VERSIONS, "readwrite", (store) => store.delete(keyOf(version)));
  }
}

const keyOf = ({ account, key, at, size }: VersionKey): IDBValidKey => [account, key, at, size];

/** The versions of this browser. */
export const draftVersions = new DraftVersions(new IndexedVersions(), () => Date.now());
