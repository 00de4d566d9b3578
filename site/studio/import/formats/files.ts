/**
 * The chosen files, and the entries of zips among them, as one bounded list.
 *
 * An archive may be hostile: names are checked, sizes are limited while entries are inflated, and
 * nothing is unpacked before it is needed.
 */

import {
  BlobReader,
  type Entry,
  type FileEntry,
  ZipReader,
} from "@zip.js/zip.js/lib/zip-core-custom.js";
import { fileSize } from "../../../page/format.ts";
import { WORDS } from "../words.ts";
import { LIMITS, MEBIBYTE, Unreadable } from "./limits.ts";

/** A file that can be read more than once. */
export interface ImportFile {
  /** Without a leading slash, `.` or `..`. */
  readonly path: string;
  /** Reads at most `limit` bytes. Throws `Unreadable` if there are more. */
  read(limit: number): Promise<Uint8Array>;
}

type Limits = typeof LIMITS;

/** What a set of files contains, and what was left out. */
export interface FileList {
  readonly files: readonly ImportFile[];
  readonly notes: readonly string[];
}

/** List files and the entries of zips. Throws `Unreadable` if there are too many. */
export async function listFiles(
  chosen: readonly { readonly path: string; readonly blob: Blob }[],
  limits: Limits = LIMITS,
): Promise<FileList> {
  const files: ImportFile[] = [];
  const notes: string[] = [];
  const budget = { left: limits.inflated };
  const add = (file: ImportFile) => {
    if (files.length >= limits.files) throw tooMany(limits);
    files.push(file);
  };
  for (const { path, blob } of chosen) {
    if (/\.zip$/i.test(path)) await addEntries(path, blob, add, notes, budget, limits);
    else {
      const clean = cleanPath(path);
      if (clean !== null) add({ path: clean, read: (limit) => readBlob(clean, blob, limit) });
    }
  }
  return { files, notes };
}

async function addEntries(
  path: string,
  blob: Blob,
  add: (file: ImportFile) => void,
  notes: string[],
  budget: { left: number },
  limits: Limits,
): Promise<void> {
  const reader = new ZipReader(new BlobReader(blob), {
    useWebWorkers: false,
    // They are counted and left out here.
    filenameValidation: "tolerant",
  });
  let unsafe = 0;
  let encrypted = 0;
  let seen = 0;
  try {
    for await (const entry of reader.getEntriesGenerator()) {
      seen += 1;
      if (seen > limits.files) throw tooMany(limits);
      if (isNoise(entry)) continue;
      const clean = cleanPath(entry.filename);
      if (clean === null) unsafe += 1;
      else if (entry.encrypted) encrypted += 1;
      else if (!entry.directory)
        add({ path: clean, read: (limit) => inflate(entry, clean, limit, budget, limits) });
    }
  } catch (error) {
    if (error instanceof Unreadable) throw error;
    throw new Unreadable(WORDS.zipUnreadable(path), { cause: error });
  }
  if (unsafe > 0) notes.push(WORDS.unsafeEntries(path, unsafe));
  if (encrypted > 0) notes.push(WORDS.encryptedEntries(path, encrypted));
}

const tooMany = (limits: Limits): Unreadable => new Unreadable(WORDS.tooManyFiles(limits.files));

/** Whether an entry is a symbolic link, or a file of the system or of a tool, such as `.git`. */
const isNoise = (entry: Entry): boolean =>
  /(^|\/)(__MACOSX|\.git|\.obsidian|\.trash|node_modules)\//.test(entry.filename) ||
  (((entry.externalFileAttributes ?? 0) >>> 16) & 0o170000) === 0o120000;

/** A relative path without `.` and `..`; null if it leaves its folder. */
export function cleanPath(path: string): string | null {
  const parts = path.replaceAll("\\", "/").split("/");
  if (parts[0] === "" || /^[a-z]:$/i.test(parts[0] ?? "") || path.includes("\0")) return null;
  if (parts.includes("..")) return null;
  return parts.filter((part) => part !== "" && part !== ".").join("/") || null;
}

async function readBlob(path: string, blob: Blob, limit: number): Promise<Uint8Array> {
  if (blob.size > limit) throw tooLarge(path, limit);
  return new Uint8Array(await blob.arrayBuffer());
}

const tooLarge = (path: string, limit: number): Unreadable =>
  new Unreadable(WORDS.fileTooLarge(path, fileSize(limit)));

/** Inflate an entry; the declared size is not trusted. */
async function inflate(
  entry: FileEntry,
  path: string,
  limit: number,
  budget: { left: number },
  limits: Limits,
): Promise<Uint8Array> {
  if (entry.uncompressedSize > limit) throw tooLarge(path, limit);
  const chunks: Uint8Array[] = [];
  let size = 0;
  let refusal: Unreadable | null = null;
  const sink = new WritableStream<Uint8Array>({
    write(chunk) {
      size += chunk.length;
      budget.left -= chunk.length;
      const isBomb = size > MEBIBYTE && size > limits.ratio * Math.max(1, entry.compressedSize);
      if (size > limit) refusal = tooLarge(path, limit);
      else if (isBomb) refusal = new Unreadable(WORDS.zipBomb(path));
      else if (budget.left < 0)
        refusal = new Unreadable(WORDS.archiveTooLarge(fileSize(limits.inflated)));
      if (refusal) throw refusal;
      chunks.push(chunk);
    },
  });
  try {
    await entry.getData(sink, { useWebWorkers: false, checkSignature: true });
  } catch (error) {
    throw refusal ?? new Unreadable(WORDS.entryDamaged(path), { cause: error });
  }
  const joined = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.length;
  }
  return joined;
}

/** A decoded text. Bytes that are not UTF-8 are read as Windows-1252, as old blogs wrote them. */
export function decodeText(bytes: Uint8Array): { readonly text: string; readonly isOld: boolean } {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    const order = first === 0xff ? "utf-16le" : "utf-16be";
    return { text: clean(new TextDecoder(order).decode(bytes)), isOld: false };
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { text: clean(text), isOld: false };
  } catch {
    return { text: clean(new TextDecoder("windows-1252").decode(bytes)), isOld: true };
  }
}

/** Unix line ends, without control characters. */
const clean = (text: string): string =>
  text
    .replace(/\r\n?/g, "\n")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is removed
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]/g, "");

/** Throws `Unreadable` if a text without its pictures is too long for pages to show all of it. */
export function checkLength(text: string): void {
  if (text.replace(/;base64,[\w+/=]+/g, "").length > LIMITS.characters)
    throw new Unreadable(WORDS.textTooLong);
}

const SIGNATURES: readonly [string, readonly number[]][] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]],
  ["image/webp", [0x52, 0x49, 0x46, 0x46]],
];

/** The type of a picture by its first bytes; null for everything else, such as SVG. */
export const pictureType = (bytes: Uint8Array): string | null =>
  SIGNATURES.find(([, signature]) => signature.every((byte, at) => bytes[at] === byte))?.[0] ??
  null;
