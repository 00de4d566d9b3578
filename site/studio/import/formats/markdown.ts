/** Markdown files and folders of Jekyll, Hugo, Obsidian and others. */

import { parse as parseToml } from "smol-toml";
import { parse as parseYaml } from "yaml";
import { WORDS } from "../words.ts";
import { checkLength, decodeText, type ImportFile } from "./files.ts";
import {
  type ContainedPicture,
  dayOf,
  type FoundPost,
  oneLine,
  pictureAddress,
  sha256,
  webAddress,
} from "./found-post.ts";
import { LIMITS } from "./limits.ts";

export const isMarkdown = (path: string): boolean =>
  /\.(md|markdown|mdown|mdx)$/i.test(path) &&
  // Pages of a repository, section pages and templates are no posts.
  !/(^|\/)(readme|license|licence|changelog|contributing|code_of_conduct|_index)\.\w+$/i.test(
    path,
  ) &&
  !/(^|\/)(templates|archetypes|_layouts|_includes)\//.test(path);

/** The front matter of a text, and what follows it. */
interface Front {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** Whether the front matter could not be understood: it stays in the text. */
  readonly isBroken: boolean;
}

const FRONT_LENGTH = 64 * 1024;
const DEEPEST = 20;

/** Split YAML, TOML or JSON front matter from a text. Anchors and aliases are refused. */
export function splitFront(text: string): Front {
  const none = { fields: {}, body: text, isBroken: false };
  const found =
    fenced(text, "---", parseFlatYaml) ??
    fenced(text, "+++", parseToml) ??
    (text.startsWith("{\n") ? braced(text) : null);
  return found ?? none;
}

/** YAML whose nesting cannot exhaust the stack of its parser. */
function parseFlatYaml(front: string): unknown {
  let depth = 0;
  for (const [mark] of front.matchAll(/[[\]{}]/g)) {
    depth += mark === "[" || mark === "{" ? 1 : -1;
    if (depth > DEEPEST) throw new RangeError("Nested too deeply.");
  }
  if (/^ {60}|(?:[-?:][ \t]+){10}/m.test(front)) throw new RangeError("Nested too deeply.");
  return parseYaml(front, { maxAliasCount: 0, schema: "core" });
}

function fenced(text: string, mark: string, parse: (front: string) => unknown): Front | null {
  if (!text.startsWith(`${mark}\n`)) return null;
  const end = text.indexOf(`\n${mark}`, mark.length);
  if (end < 0 || end > FRONT_LENGTH || !/^[ \t]*(\n|$)/.test(text.slice(end + 1 + mark.length)))
    return null;
  const body = text.slice(end + 1 + mark.length).replace(/^[ \t]*\n/, "");
  return front(text, body, () => parse(text.slice(mark.length + 1, end + 1)));
}

function braced(text: string): Front | null {
  const end = text.indexOf("\n}\n");
  if (end < 0 || end > FRONT_LENGTH) return null;
  return front(text, text.slice(end + 3), () => JSON.parse(text.slice(0, end + 2)));
}

function front(text: string, body: string, parse: () => unknown): Front {
  try {
    const fields = parse();
    if (fields === null) return { fields: {}, body, isBroken: false };
    if (typeof fields !== "object" || Array.isArray(fields)) throw new TypeError("No fields.");
    const lower = Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]);
    return { fields: Object.fromEntries(lower), body, isBroken: false };
  } catch {
    return { fields: {}, body: text, isBroken: true };
  }
}

/** Finds files of the chosen folder by a path that a text contains. */
export interface FileFinder {
  /**
   * Find a file by an address relative to the text or the site's root, or by its name alone, as in
   * Obsidian.
   */
  find(from: string, address: string): ImportFile | null;
}

/** Index files by path and by name. */
export function finderOf(files: readonly ImportFile[]): FileFinder {
  const byPath = new Map(files.map((file) => [file.path.toLowerCase(), file]));
  const byName = new Map<string, ImportFile | null>();
  for (const file of files) {
    const name = nameOf(file.path).toLowerCase();
    // A name that two files have means neither.
    byName.set(name, byName.has(name) ? null : file);
  }
  const roots = rootsOf(files);
  return {
    find(from, address) {
      const path = decodePath(address);
      if (path === null) return null;
      const folder = from.includes("/") ? from.slice(0, from.lastIndexOf("/") + 1) : "";
      const places = path.startsWith("/")
        ? roots.map((root) => root + path.slice(1))
        : [folder + path, ...roots.map((root) => root + path)];
      for (const place of places) {
        const file = byPath.get(resolve(place).toLowerCase());
        if (file) return file;
      }
      return byName.get(nameOf(path).toLowerCase()) ?? null;
    },
  };
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** The possible roots of the site: the chosen folder, or `static`, `public` or `assets` in it. */
function rootsOf(files: readonly ImportFile[]): string[] {
  const tops = new Set(
    files.map(({ path }) => (path.includes("/") ? `${path.split("/")[0]}/` : "")),
  );
  return ["", ...tops].flatMap((top) => [top, `${top}static/`, `${top}public/`, `${top}assets/`]);
}

function decodePath(address: string): string | null {
  if (/^[a-z][a-z0-9+.-]*:/i.test(address) || address.startsWith("//")) return null;
  const path = address.replace(/[?#].*$/s, "");
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** A path without `.` and `..`. */
function resolve(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return parts.join("/");
}

/** The post of a Markdown file. */
export async function parseMarkdown(
  path: string,
  bytes: Uint8Array,
  finder: FileFinder,
  origin: string | null,
): Promise<FoundPost> {
  const { text, isOld } = decodeText(bytes);
  checkLength(text);
  const { fields, body, isBroken } = splitFront(text);
  const named = /(?:^|\/)(draft-)?(\d{4}-\d{1,2}-\d{1,2})?-?([^/]*?)(?:\/index)?\.\w+$/i.exec(path);
  const heading = firstHeading(body);
  const title = oneLine(String(fields.title ?? heading?.text ?? wordsOf(named?.[3] ?? path)));
  const isHeadingTitle = heading !== null && (fields.title === undefined || heading.text === title);
  const converted = convertBody(isHeadingTitle ? heading.rest : body, path, finder, origin);
  const isDraft =
    fields.draft === true || fields.published === false || /(^|\/)_drafts\/|^draft-/.test(path);
  const date = dayOf(fields.date ?? fields.pubdate ?? fields.published_at ?? named?.[2]);
  return {
    format: "Markdown",
    source: `markdown:${await sha256(text)}`,
    title,
    description: oneLine(String(fields.description ?? fields.excerpt ?? fields.summary ?? "")),
    text: converted.text,
    tags: [...listOf(fields.tags), ...listOf(fields.categories)],
    date: isDraft ? null : date,
    address: isDraft ? null : addressOfFields(fields, origin),
    remarks: isDraft ? [WORDS.wasDraft] : [],
    losses: [
      ...(isBroken ? [WORDS.frontMatterUnreadable] : []),
      ...(isOld ? [WORDS.oldEncoding] : []),
      ...converted.losses,
    ],
    linkedPictures: converted.linkedPictures,
    pictures: converted.pictures,
    signedBy: null,
  };
}

function addressOfFields(fields: Front["fields"], origin: string | null): string | null {
  const given = fields.canonical_url ?? fields.canonicalurl ?? fields.permalink ?? fields.url;
  return typeof given === "string" && !given.includes(":title") ? webAddress(given, origin) : null;
}

/** A list of words: a YAML list, or one text with commas or spaces. */
function listOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.filter((each) => typeof each === "string");
  if (typeof value !== "string") return [];
  return value
    .split(value.includes(",") ? "," : /\s+/)
    .map((word) => word.trim())
    .filter(Boolean);
}

const wordsOf = (slug: string): string => slug.replace(/[-_]+/g, " ").trim();

/** The heading of level one at the start of a text; only a picture may be above it. */
function firstHeading(body: string): { readonly text: string; readonly rest: string } | null {
  const found = /^\s*(!\[[^\n]*\n\s*)?# +([^\n]*)(?:\n|$)/.exec(body);
  if (!found) return null;
  const text = oneLine((found[2] ?? "").slice(0, 1000)).replace(/ #+$/, "");
  return { text, rest: (found[1] ?? "") + body.slice(found[0].length) };
}

interface Converted {
  readonly text: string;
  readonly losses: readonly string[];
  readonly linkedPictures: readonly string[];
  readonly pictures: readonly ContainedPicture[];
}

/** A text in alternating parts: words, code, words, … */
function splitCode(text: string): string[] {
  const parts = [""];
  let fence: string | null = null;
  for (const line of text.split(/(?<=\n)/)) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    const isEnd: boolean = fence !== null && mark?.startsWith(fence) === true;
    if ((fence === null && mark) || (isEnd && /^\s*[`~]+\s*$/.test(line))) {
      if (fence === null) parts.push(line);
      else parts.push(`${parts.pop()}${line}`, "");
      fence = fence === null ? (mark ?? null) : null;
    } else parts.push(`${parts.pop()}${line}`);
  }
  return parts;
}

/** Markdown as Imprint reads it: without wiki links, shortcodes and Liquid. Code stays as it is. */
function convertBody(
  body: string,
  path: string,
  finder: FileFinder,
  origin: string | null,
): Converted {
  const pictures: ContainedPicture[] = [];
  const linkedPictures = new Set<string>();
  let shortcodes = 0;
  let missing = 0;
  let wikiLinks = 0;
  const picture = (alt: string, address: string): string => {
    if (address.startsWith(pictureAddress(0).slice(0, -1))) return `![${alt}](${address})`;
    const file = finder.find(path, address);
    if (file) {
      const index = pictures.push({ name: file.path, read: () => file.read(LIMITS.picture) }) - 1;
      return `![${alt}](${pictureAddress(index)})`;
    }
    if (/^data:image\/(png|jpeg|gif|webp);base64,/.test(address)) return `![${alt}](${address})`;
    const elsewhere = webAddress(address, origin);
    if (elsewhere === null || elsewhere.startsWith("mailto:")) {
      missing += 1;
      return alt;
    }
    linkedPictures.add(elsewhere);
    return `![${alt}](${elsewhere})`;
  };
  const convert = (part: string): string =>
    part
      .replace(/%%[\s\S]*?%%/g, "")
      .replace(/\{\{ *site\.(?:baseurl|url) *\}\}/g, "")
      .replace(/\{\{ {0,9}["']([^"'\n]{0,500})["'] {0,9}\| *(?:relative|absolute)_url *\}\}/g, "$1")
      .replace(/!\[\[([^\]\n]{1,200})\]\]/g, (_, embedded: string) => {
        const name = embedded.split(/[|#]/)[0] ?? "";
        return /\.(png|jpe?g|gif|webp|svg|bmp|avif)$/i.test(name)
          ? picture(altOf(name), name)
          : wiki(name);
      })
      .replace(/\[\[([^\]|\n]{1,200})(?:\|([^\]\n]{1,200}))?\]\]/g, (_, name, words) =>
        wiki(words ?? name),
      )
      .replace(/\{\{[<%] {0,9}figure\s([^\n]{0,300}?)[>%]\}\}/g, (_, given) =>
        picture(argument(given, "alt") || argument(given, "caption"), argument(given, "src")),
      )
      .replace(/\{\{[<%] {0,9}youtube {1,9}(?:id=)?"?([\w-]{1,40})"? {0,9}[>%]\}\}/g, (_, id) => {
        shortcodes += 1;
        return `<https://www.youtube.com/watch?v=${id}>`;
      })
      .replace(/\{\{[<%][^\n]{0,300}?[>%]\}\}|\{%[^\n]{0,300}?%\}/g, () => {
        shortcodes += 1;
        return "";
      })
      .replace(
        /!\[([^\]\n]{0,1000})\]\(<?(data:[\w/;+-]{1,50},[\w+/=]+|[^)\s>]{1,1000})>?(?:[ \t]{1,9}["'(][^\n]{0,300}?["')])?\)/g,
        (_, alt, address) => picture(alt, address),
      )
      .replace(
        /^(> *)\[!(\w+)\][+-]? *(.*)$/gm,
        (_, quote, kind, words) =>
          `${quote}**${words || kind.replace(/^./, (letter: string) => letter.toUpperCase())}**`,
      );
  const wiki = (words: string): string => {
    wikiLinks += 1;
    return words;
  };
  const words = (part: string): string =>
    part
      .split(/(`[^`\n]+`)/)
      .map((each, index) => (index % 2 === 0 ? convert(each) : each))
      .join("");
  const highlighted = body
    .replace(/\{% *highlight +(\w{1,50})[^%\n]{0,200}%\}\n?/g, "\n```$1\n")
    .replace(/\n?\{% *endhighlight *%\}/g, "\n```");
  const parts = splitCode(highlighted).map((part, index) => (index % 2 === 0 ? words(part) : part));
  return {
    text: parts.join("").trim(),
    losses: [
      ...(wikiLinks ? [WORDS.wikiLinksLost(wikiLinks)] : []),
      ...(shortcodes ? [WORDS.shortcodesChanged(shortcodes)] : []),
      ...(missing ? [WORDS.picturesNotInFolder(missing)] : []),
    ],
    linkedPictures: [...linkedPictures],
    pictures,
  };
}

const altOf = (name: string): string => wordsOf(nameOf(name).replace(/\.\w+$/, ""));

const argument = (given: string, name: string): string =>
  new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(given)?.[1] ?? "";
