/**
 * Creates drafts from found posts: every text is stored in this browser, and then saved.
 *
 * A reload in between loses nothing: the stored texts are saved later, without the files. A post
 * that was imported before is skipped.
 */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { countBytes } from "../store/draft-text.ts";
import type { Archive, ReadOptions } from "./formats/archive.ts";
import { pictureType } from "./formats/files.ts";
import { type ContainedPicture, draftText, type FoundPost, sha256 } from "./formats/found-post.ts";
import { LIMITS, Unreadable } from "./formats/limits.ts";
import {
  countOf,
  type ImportEvent,
  type ImportRecord,
  type ImportState,
  NOTHING,
  pendingItems,
  reduce,
} from "./import-state.ts";
import { WORDS } from "./words.ts";

/** How a save ended: with the draft's key, or with a sentence and whether it concerns all texts. */
export type SaveOutcome =
  | { readonly kind: "saved"; readonly key: string }
  | { readonly kind: "refused"; readonly sentence: string; readonly isForAll: boolean };

/** What an import needs from this browser, the service and the wallet. */
export interface ImportPorts {
  /** The address of the author, in lower case. */
  readonly account: string;
  /** The service's limit of a text in bytes. */
  readonly contentLimit: number;
  read(files: readonly ChosenFile[], options: ReadOptions): Promise<Archive>;
  /** A picture as a `data:` URL of at most `room` bytes. */
  encode(picture: Blob, room: number): Promise<string>;
  records(): Promise<ImportRecord[]>;
  putRecord(record: ImportRecord): Promise<void>;
  removeRecord(source: string): Promise<void>;
  /** Keep the text of a new draft in this browser, unless it is already there. */
  keepText(key: string, post: FoundPost, text: string): Promise<void>;
  /** The keys of drafts whose text this browser has. */
  keptKeys(): Promise<ReadonlySet<string>>;
  /** Save a kept draft. `onWait` gets what the save waits for, and null when it continues. */
  save(key: string, onWait: (sentence: string | null) => void): Promise<SaveOutcome>;
  /** Ask the wallet once, so that saves need no prompt; throws if the author declines. */
  allowSaves(): Promise<void>;
  /** Run in only one tab of this browser; false if another tab is importing. */
  alone(run: () => Promise<void>): Promise<boolean>;
  /** Let the page respond. */
  pause(): Promise<void>;
  explain(error: unknown): string;
}

export interface ChosenFile {
  readonly path: string;
  readonly blob: Blob;
}

/** Bytes left free in a text for the author's additions. */
const MARGIN = 16 * 1024;

export class Importer {
  private readonly current = signal<ImportState>(NOTHING);

  constructor(private readonly ports: ImportPorts) {}

  get state(): ReadonlySignal<ImportState> {
    return this.current;
  }

  dispatch(event: ImportEvent): void {
    this.current.value = reduce(this.current.value, event);
  }

  /** Show the unfinished imports of an earlier visit. */
  async resume(): Promise<void> {
    if (this.isBusy) return;
    const records = await this.settledRecords();
    if (!this.isBusy) this.dispatch({ kind: "records", records });
  }

  /** Read chosen files. */
  async read(files: readonly ChosenFile[], origin: string | null): Promise<void> {
    if (this.isBusy || files.length === 0) return;
    this.dispatch({ kind: "reading" });
    let last = 0;
    try {
      const { posts, notes } = await this.ports.read(files, {
        origin,
        onPost: async (found) => {
          if (found !== last) this.dispatch({ kind: "read", count: found });
          last = found;
          await this.ports.pause();
        },
      });
      this.dispatch({ kind: "found", posts, notes, records: await this.settledRecords() });
    } catch (error) {
      const problem = error instanceof Unreadable ? error.message : WORDS.filesUnreadable;
      this.dispatch({ kind: "stopped", problem });
    }
  }

  /** Create the drafts of all chosen and interrupted posts. */
  async run(): Promise<void> {
    if (this.isBusy || pendingItems(this.current.value).length === 0) return;
    this.dispatch({ kind: "keeping" });
    try {
      await this.ports.allowSaves();
      const isAlone = await this.ports.alone(async () => {
        // Another tab may have imported meanwhile.
        const done = new Map((await this.settledRecords()).map((each) => [each.source, each]));
        await this.keepTexts(done);
        this.dispatch({ kind: "saving" });
        await this.saveTexts();
      });
      if (!isAlone) this.dispatch({ kind: "stopped", problem: WORDS.otherTabImports });
    } catch (error) {
      this.dispatch({ kind: "stopped", problem: this.ports.explain(error) });
    }
  }

  /** Forget that a post was imported, so that it can be imported again. */
  async forget(source: string): Promise<void> {
    await this.ports.removeRecord(source);
    this.dispatch({ kind: "forgotten", source });
  }

  private get isBusy(): boolean {
    return this.current.value.phase !== "idle";
  }

  private async keepTexts(done: ReadonlyMap<string, ImportRecord>): Promise<void> {
    for (const { source, title, post, standing } of pendingItems(this.current.value)) {
      const record = done.get(source);
      if (record) {
        this.dispatch({ kind: record.isMade ? "made" : "kept", source, key: record.key });
        continue;
      }
      if (!post || standing.kind === "kept") continue;
      // The same key each time: keeping it twice makes no second draft.
      const key = `local-import-${(await sha256(source)).slice(0, 32)}`;
      const text = await this.compose(post);
      if (countBytes(text) > this.ports.contentLimit) {
        this.dispatch({ kind: "failed", source, sentence: WORDS.draftTooLarge });
        continue;
      }
      await this.ports.keepText(key, post, text);
      await this.ports.putRecord({
        account: this.ports.account,
        source,
        title,
        key,
        isMade: false,
      });
      this.dispatch({ kind: "kept", source, key });
      await this.ports.pause();
    }
  }

  private async saveTexts(): Promise<void> {
    for (const { source, title, standing } of this.current.value.items) {
      if (standing.kind !== "kept") continue;
      const onWait = (sentence: string | null) => this.dispatch({ kind: "waiting", sentence });
      const outcome = await this.ports.save(standing.key, onWait);
      if (outcome.kind === "saved") {
        const { account } = this.ports;
        const { key } = outcome;
        await this.ports.putRecord({ account, source, title, key, isMade: true });
        this.dispatch({ kind: "made", source, key });
      } else if (outcome.isForAll) {
        this.dispatch({ kind: "stopped", problem: outcome.sentence });
        return;
      } else this.dispatch({ kind: "failed", source, sentence: outcome.sentence });
    }
    const failed = countOf(this.current.value, "failed");
    const problem = failed ? WORDS.someFailed(failed) : null;
    this.dispatch({ kind: "stopped", problem });
  }

  /**
   * The records. A post whose text is gone from this browser counts as imported: the page was
   * closed between the save and its record, or the author has saved or deleted the draft.
   */
  private async settledRecords(): Promise<ImportRecord[]> {
    const [records, kept] = await Promise.all([this.ports.records(), this.ports.keptKeys()]);
    return records.map((record) => ({ ...record, isMade: record.isMade || !kept.has(record.key) }));
  }

  /** The text of a draft, with as many pictures as fit. */
  private async compose(post: FoundPost): Promise<string> {
    const empty = countBytes(draftText(post, []));
    let room = this.ports.contentLimit - empty - MARGIN;
    const embedded: (string | null)[] = [];
    const lost: string[] = [];
    for (const picture of post.pictures) {
      const made = await this.embed(picture, room).catch(() => null);
      embedded.push(made);
      if (made === null) lost.push(picture.name);
      else room -= made.length;
    }
    const text = draftText(post, embedded);
    if (lost.length === 0) return text;
    const names = lost.map((name) => name.slice(name.lastIndexOf("/") + 1)).join(", ");
    const missing = WORDS.picturesMissing(names.replace(/[*_[\]]/g, " "));
    return `${withoutEmpty(text)}\n*${missing}*\n`;
  }

  private async embed(picture: ContainedPicture, room: number): Promise<string | null> {
    const bytes = await picture.read();
    const type = pictureType(bytes);
    if (type === null || bytes.length > LIMITS.picture) return null;
    return this.ports.encode(new Blob([bytes as Uint8Array<ArrayBuffer>], { type }), room);
  }
}

/** Pictures without an address become their descriptions. */
const withoutEmpty = (text: string): string => text.replace(/!\[([^\]\n]{0,300})\]\(\)/g, "$1");
