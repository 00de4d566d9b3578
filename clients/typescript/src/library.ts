/** A library as files that are readable and verifiable without the service. */

import { Refusal } from "./problems.js";
import type { ImprintReader } from "./reader.js";
import type { Code, HeldPost, PostContent } from "./records.js";
import { pause } from "./transport.js";

/** A file of a library; `path` has only letters, digits, `-`, `.` and single slashes. */
export interface LibraryFile {
  readonly path: string;
  readonly content: string | Uint8Array;
}

export interface LibraryOptions {
  /** Called before each post: how many are done, and how many there are. */
  onPost?(done: number, all: number): void;
}

/** Refusals after which the same request may succeed later. */
const BUSY = ["rate_limited", "overloaded", "storage_unavailable"];

/** Refusals that concern one file and do not end the download, with the note in the list. */
const ABSENT: { readonly [code: string]: string } = {
  not_found: "isn’t stored at this service",
  unknown_revision: "isn’t stored at this service",
  not_final: "isn’t final yet",
  not_entitled: "isn’t readable for this account",
  not_free: "isn’t readable for this account",
  payment_required: "isn’t readable for this account",
  removed: "was removed",
  withheld: "is withheld",
  storage_unavailable: "can’t be read at the moment",
};

/** How many times a request is sent while the service is busy. */
const ATTEMPTS = 8;

/**
 * Everything that the session's address holds: each post as Markdown, with its document, the
 * author's signed correction and the proof from the chain, where there are any. The last file is a
 * list of all of them.
 */
export async function* exportLibrary(
  reader: ImprintReader,
  { onPost }: LibraryOptions = {},
): AsyncGenerator<LibraryFile> {
  const posts = await retryWhileBusy(() => reader.listLibrary({ limit: 50 }).collect());
  const entries: Entry[] = [];
  for (const [done, post] of posts.entries()) {
    onPost?.(done, posts.length);
    const entry: Entry = { post, folder: folderOf(post), names: [], lacking: [] };
    entries.push(entry);
    for await (const file of filesOf(reader, post, entry.lacking)) {
      entry.names.push(file.path);
      yield { ...file, path: `${entry.folder}/${file.path}` };
    }
  }
  onPost?.(posts.length, posts.length);
  yield { path: "README.md", content: describe(reader, entries) };
}

interface Entry {
  readonly post: HeldPost;
  readonly folder: string;
  readonly names: string[];
  /** What is not there, in words. */
  readonly lacking: string[];
}

async function* filesOf(
  reader: ImprintReader,
  post: HeldPost,
  lacking: string[],
): AsyncGenerator<LibraryFile> {
  const { id, revision } = post;
  const named = revision ? { revision: revision.number } : {};
  const found = await readIfPresent(() => reader.readPostContent(id, named));
  if (revision && found === "unknown_revision") {
    // The author has erased the correction since the list was read.
    yield* filesOf(reader, { ...post, revision: null }, lacking);
    return;
  }
  if (typeof found === "string") {
    lacking.push(`its text ${ABSENT[found]}`);
  } else {
    yield* textOf(reader, post, found);
    if (found.proof) yield { path: "correction.json", content: writeJson(found) };
    const document = await readIfPresent(() => reader.readPostDocument(id));
    if (typeof document !== "string") yield { path: "document.json", content: document };
  }
  const proof = await readIfPresent(() => reader.getPostProof(id));
  if (typeof proof === "string") lacking.push(`its proof ${ABSENT[proof]}`);
  else yield { path: "proof.json", content: writeJson(proof) };
}

/** The text with its front matter, and those of its pictures that the service has. */
async function* textOf(
  reader: ImprintReader,
  post: HeldPost,
  { content }: PostContent,
): AsyncGenerator<LibraryFile> {
  let text = readBlocks(content) ?? content;
  const named = text.matchAll(/ipfs:\/\/(baf[a-z2-7]{56})/g);
  for (const cid of new Set(Array.from(named, ([, cid = ""]) => cid))) {
    const picture = await readIfPresent(() => reader.fetchDocument(cid));
    if (typeof picture === "string" || !picture.mediaType.startsWith("image/")) continue;
    const name = `${cid}.${picture.mediaType === "image/png" ? "png" : "jpg"}`;
    text = text.replaceAll(`ipfs://${cid}`, name);
    yield { path: name, content: picture.bytes };
  }
  yield { path: "post.md", content: `${frontMatter(post)}\n${text.trimEnd()}\n` };
}

const frontMatter = (post: HeldPost): string => {
  const { id, author, byline, cid, createdAt, hashtags, held, links, title } = post;
  const facts = {
    title,
    ...(byline && { by: byline.name }),
    author,
    date: createdAt,
    ...(post.revision && { corrected: post.revision.createdAt }),
    tags: hashtags,
    post: id,
    cid,
    since: held.boughtAt,
    ...(held.paid !== null && { paid: held.paid }),
    url: links.page,
  };
  const lines = Object.entries(facts).map(([name, value]) => `${name}: ${writeYaml(value)}`);
  return `---\n${lines.join("\n")}\n---\n`;
};

/** A value as JSON, with escapes for the characters that must also be escaped in YAML. */
const writeYaml = (value: unknown): string =>
  JSON.stringify(value ?? null).replace(
    /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** The text of a document of the earlier front end; null if it is anything else. */
function readBlocks(content: string): string | null {
  if (!content.trimStart().startsWith("{")) return null;
  let found: { blocks?: unknown };
  try {
    found = JSON.parse(content);
  } catch {
    return null;
  }
  if (!Array.isArray(found.blocks)) return null;
  const texts = found.blocks.map(writeBlock);
  return texts.includes(null) ? null : texts.filter(Boolean).join("\n\n");
}

/** A block of a document as Markdown; null if it is malformed. */
function writeBlock(block: unknown): string | null {
  if (!isObject(block)) return null;
  const { type, data } = block;
  const { text, level, items, code, caption } = isObject(data) ? data : {};
  if (type === "code") return typeof code === "string" ? `\`\`\`\n${code}\n\`\`\`` : null;
  const isList = Array.isArray(items);
  const parts = isList
    ? items.map((item) => (isObject(item) ? item.content : item))
    : [text ?? caption ?? ""];
  if (!parts.every((part) => typeof part === "string")) return null;
  const plain = parts.map((part) => part.replace(/<[^<>]*>/g, ""));
  if (isList) return plain.map((item) => `- ${item}`).join("\n");
  const [written = ""] = plain;
  if (type === "header") return `${"#".repeat(clampLevel(level))} ${written}`;
  return type === "quote" ? `> ${written}` : written;
}

const clampLevel = (level: unknown): number =>
  typeof level === "number" ? Math.min(Math.max(level, 1), 6) : 2;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

const folderOf = ({ id, links }: HeldPost): string => {
  const slug = new URL(links.page).pathname.split("/")[3] ?? "";
  // The service may be hostile: a path must not lead out of the folder.
  const parts = [id, slug].map((part) => part.replace(/[^0-9a-z-]/g, "").slice(0, 80));
  return `posts/${parts.filter(Boolean).join("-")}`;
};

function describe(reader: ImprintReader, entries: readonly Entry[]): string {
  const lines = entries.map(({ post, folder, names, lacking }) => {
    const title = post.title.replace(/[\s\\[\]`*_<>&]+/g, " ").trim() || `Post ${post.id}`;
    const shown = names.includes("post.md") ? `[${title}](${folder}/post.md)` : title;
    return `- ${shown}, by ${post.author}${lacking.length ? ` (${lacking.join("; ")})` : ""}`;
  });
  return `# Library

All posts that ${reader.session?.address ?? "you"} holds at ${reader.url}.

${lines.join("\n") || "None."}

## What the files are

- \`post.md\`: the text, with its facts above it.
- \`document.json\`: what the author published; its hash is the \`cid\` that the chain names.
- \`proof.json\`: where the chain records it. To check both with any node of the chain:
  \`imprint verify --proof proof.json --document document.json --rpc URL\`
- \`correction.json\`: a corrected text, with the signature of its author.

These files don’t need the service. They are yours to keep and to read, not to publish.
`;
}

const writeJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** The result of a request, or the code of its refusal if that only concerns one file. */
async function readIfPresent<T extends object>(read: () => Promise<T>): Promise<T | Code> {
  try {
    return await retryWhileBusy(read);
  } catch (error) {
    if (error instanceof Refusal && Object.hasOwn(ABSENT, error.code)) return error.code;
    throw error;
  }
}

/** The result of a request, which is repeated while the service is busy. */
async function retryWhileBusy<T>(read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read();
    } catch (error) {
      const isBusy = error instanceof Refusal && BUSY.includes(error.code);
      if (!isBusy || attempt === ATTEMPTS) throw error;
      await pause(1000 * Math.min(error.retryAfter ?? 1, 60));
    }
  }
}
