/** Finds the posts in chosen files, whatever service they come from. */

import { WORDS } from "../words.ts";
import { checkLength, decodeText, type FileList, type ImportFile, listFiles } from "./files.ts";
import type { FoundPost } from "./found-post.ts";
import { ghostPosts, ghostReader, ghostTables } from "./ghost.ts";
import { LIMITS, Unreadable } from "./limits.ts";
import { finderOf, isMarkdown, parseMarkdown } from "./markdown.ts";
import { parseMedium } from "./medium.ts";
import { isMirror, type MirrorEntry, parseMirror } from "./mirror.ts";
import { parseSubstack, type SubstackRow, substackRows } from "./substack.ts";
import { isWordPress, wordPressItems, wordPressReader } from "./wordpress.ts";

/** The content of the files: posts, and notes for the author, such as on unreadable files. */
export interface Archive {
  readonly posts: readonly FoundPost[];
  readonly notes: readonly string[];
}

export interface ReadOptions {
  /** The address of the old site, for links and pictures without one. */
  readonly origin: string | null;
  /** Called between posts: reports how many were read, and lets the page respond. */
  onPost(count: number): Promise<void>;
}

/** Read all posts. Throws `Unreadable` if the files are too many, or a zip is damaged. */
export async function readArchive(
  chosen: readonly { readonly path: string; readonly blob: Blob }[],
  options: ReadOptions,
): Promise<Archive> {
  const reading = new Reading(await listFiles(chosen), options);
  await reading.read();
  return reading.archive();
}

class Reading {
  private readonly posts = new Map<string, FoundPost>();
  private readonly notes: string[];
  private readonly files: readonly ImportFile[];
  /** The time of the shown version of each Mirror post, by the post's source. */
  private readonly versions = new Map<string, number>();
  private twins = 0;
  private isFull = false;

  constructor(
    { files, notes }: FileList,
    private readonly options: ReadOptions,
  ) {
    this.files = files;
    this.notes = [...notes];
  }

  archive(): Archive {
    if (this.isFull) this.notes.push(WORDS.tooManyPosts(LIMITS.posts));
    if (this.twins) this.notes.push(WORDS.foundTwice(this.twins));
    return { posts: [...this.posts.values()], notes: this.notes };
  }

  async read(): Promise<void> {
    const table = await this.findSubstack();
    if (table) await this.readSubstack(table);
    const finder = finderOf(this.files);
    const { origin } = this.options;
    for (const file of this.files) {
      if (this.isFull) return;
      const { path } = file;
      if (isMarkdown(path))
        await this.add(path, async () =>
          parseMarkdown(path, await file.read(LIMITS.text), finder, origin),
        );
      else if (/\.json$/i.test(path)) await this.readJson(file);
      else if (/\.(xml|wxr)$/i.test(path)) await this.readXml(file);
      else if (/\.html?$/i.test(path) && !table) await this.readPage(file);
    }
  }

  /** Add a post, or say why it cannot be read. */
  private async add(name: string, read: () => Promise<FoundPost | null>): Promise<void> {
    if (this.posts.size >= LIMITS.posts) {
      this.isFull = true;
      return;
    }
    try {
      const post = await read();
      if (!post) return;
      if (post.title === "" && post.text === "") return;
      checkLength(post.text);
      if (this.posts.has(post.source)) this.twins += 1;
      else this.posts.set(post.source, post);
    } catch (error) {
      this.fail(name, error);
    }
    await this.options.onPost(this.posts.size);
  }

  private fail(name: string, error: unknown): void {
    // A bug in one post must not hide the others.
    const reason = error instanceof Unreadable ? error.message : WORDS.textUnreadable;
    this.notes.push(reason.startsWith(name) ? reason : `${name}: ${reason}`);
  }

  /** The text of a file with many posts; null if it cannot be read. */
  private async textOf(file: ImportFile): Promise<string | null> {
    try {
      return decodeText(await file.read(LIMITS.export)).text;
    } catch (error) {
      this.fail(file.path, error);
      return null;
    }
  }

  private async readJson(file: ImportFile): Promise<void> {
    const text = await this.textOf(file);
    if (text === null) return;
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      this.notes.push(WORDS.invalidJson(file.path));
      return;
    }
    if (isMirror(json)) return this.readMirror(file.path, json);
    const tables = ghostTables(json);
    if (!tables) return;
    const read = ghostReader(tables, this.files, this.options.origin);
    for (const row of ghostPosts(tables)) {
      if (this.isFull) return;
      await this.add(String(row.title ?? file.path), async () => read(row));
    }
  }

  /** Every version of a post has a file of its own: the newest one counts. */
  private async readMirror(path: string, entry: MirrorEntry): Promise<void> {
    const version = Number(entry.content.timestamp) || 0;
    await this.add(path, async () => {
      const post = await parseMirror(entry);
      const shown = this.versions.get(post.source);
      if (shown !== undefined && shown >= version) return null;
      this.versions.set(post.source, version);
      this.posts.delete(post.source);
      return post;
    });
  }

  private async readXml(file: ImportFile): Promise<void> {
    const text = await this.textOf(file);
    if (text === null || !isWordPress(text)) return;
    try {
      const items = wordPressItems(text);
      const read = wordPressReader(items, this.options.origin);
      for (const item of items) {
        if (this.isFull) return;
        await this.add(item.fields.title || file.path, async () => read(item));
      }
    } catch (error) {
      this.fail(file.path, error);
    }
  }

  private async readPage(file: ImportFile): Promise<void> {
    await this.add(file.path, async () => {
      const { text } = decodeText(await file.read(LIMITS.text));
      return parseMedium(file.path, text, this.options.origin);
    });
  }

  private async findSubstack(): Promise<{ rows: SubstackRow[]; folder: string } | null> {
    const file = this.files.find(({ path }) => /(^|\/)posts\.csv$/i.test(path));
    const text = file && (await this.textOf(file));
    const rows = text ? substackRows(text) : null;
    return file && rows ? { rows, folder: file.path.replace(/posts\.csv$/i, "") } : null;
  }

  private async readSubstack(table: { rows: SubstackRow[]; folder: string }): Promise<void> {
    const byPath = new Map(this.files.map((file) => [file.path, file]));
    let missing = 0;
    for (const row of table.rows) {
      if (this.isFull) return;
      const file = byPath.get(`${table.folder}posts/${row.post_id}.html`);
      if (file)
        await this.add(row.title || file.path, () => parseSubstack(row, file, this.options.origin));
      else missing += 1;
    }
    if (missing) this.notes.push(WORDS.missingInSubstack(missing));
  }
}
