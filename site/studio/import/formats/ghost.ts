/** Ghost: the JSON of *Settings → Export*, with the pictures of a content zip if it was chosen too. */

import type { Element, ElementContent } from "hast";
import { WORDS } from "../words.ts";
import type { ImportFile } from "./files.ts";
import { dayOf, type FoundPost, oneLine, webAddress } from "./found-post.ts";
import {
  addressOf,
  type Dialect,
  findAll,
  type HtmlDraft,
  hasClass,
  htmlToMarkdown,
  linkParagraph,
  lose,
  lossesOf,
  newHtmlDraft,
  textOf,
} from "./html.ts";
import { LIMITS, Unreadable } from "./limits.ts";

type Row = Readonly<Record<string, unknown>>;

/** The tables of an export; null if the JSON is not an export. */
export function ghostTables(json: unknown): Readonly<Record<string, unknown>> | null {
  const outer = json as { db?: unknown; data?: unknown } | null;
  const inner = Array.isArray(outer?.db) ? (outer.db[0] as { data?: unknown }) : outer;
  const data = inner?.data;
  if (typeof data !== "object" || data === null || !Array.isArray((data as Row).posts)) return null;
  return data as Row;
}

const rowsOf = (tables: Row, name: string): Row[] => {
  const rows = tables[name];
  return Array.isArray(rows) ? rows.filter((row) => typeof row === "object" && row !== null) : [];
};

const texts = (row: Row | undefined, name: string): string => {
  const value = row?.[name];
  return typeof value === "string" ? value : "";
};

const GHOST_URL = "__GHOST_URL__";

/** The posts of an export. */
export const ghostPosts = (tables: Row): Row[] => rowsOf(tables, "posts");

/** Builds the post of a row; throws `Unreadable` if it has no text. */
export function ghostReader(
  tables: Row,
  files: readonly ImportFile[],
  origin: string | null,
): (row: Row) => FoundPost {
  const tags = tagsByPost(tables);
  const meta = new Map(rowsOf(tables, "posts_meta").map((row) => [row.post_id, row]));
  const contents = contentFiles(files);
  return (row) => {
    const html = texts(row, "html") || cardHtml(row);
    const isDraft = texts(row, "status") === "draft" || texts(row, "status") === "scheduled";
    const draft = newHtmlDraft(origin, (address) => {
      const file = contents.get(address.replace(/^.*?(?=content\/(images|media|files)\/)/, ""));
      return file ? { name: file.path, read: () => file.read(LIMITS.picture) } : null;
    });
    const feature = texts(row, "feature_image");
    const featureAlt = texts(meta.get(row.id), "feature_image_alt");
    const lead = feature
      ? `<img src="${escapeHtml(feature)}" alt="${escapeHtml(featureAlt)}">`
      : "";
    const text = htmlToMarkdown(resolve(lead + html, origin), draft, DIALECT);
    const slug = texts(row, "slug");
    const canonical = webAddress(texts(row, "canonical_url"), null);
    const own = origin && slug ? webAddress(`${encodeURIComponent(slug)}/`, origin) : null;
    return {
      format: "Ghost",
      source: `ghost:${texts(row, "uuid") || texts(row, "id")}`,
      title: oneLine(texts(row, "title")),
      description: oneLine(texts(row, "custom_excerpt")),
      text,
      tags: tags.get(row.id) ?? [],
      date: isDraft ? null : dayOf(row.published_at),
      address: isDraft ? null : (canonical ?? own),
      remarks: remarksOf(row),
      losses: [...accessLosses(row), ...lossesOf(draft)],
      linkedPictures: [...draft.linkedPictures],
      pictures: draft.pictures,
      signedBy: null,
    };
  };
}

function remarksOf(row: Row): string[] {
  const status = texts(row, "status");
  return [
    ...(texts(row, "type") === "page" ? [WORDS.wasPage] : []),
    ...(status === "draft" ? [WORDS.wasDraft] : []),
    ...(status === "scheduled" ? [WORDS.wasScheduled] : []),
    ...(status === "sent" ? [WORDS.wasEmail] : []),
  ];
}

function accessLosses(row: Row): string[] {
  const audience = texts(row, "visibility");
  if (audience !== "paid" && audience !== "members" && audience !== "tiers") return [];
  return [audience === "members" ? WORDS.wasForMembers : WORDS.wasForPayingMembers];
}

/** The names of tags in their order, without the internal ones. */
function tagsByPost(tables: Row): Map<unknown, string[]> {
  const names = new Map(rowsOf(tables, "tags").map((row) => [row.id, texts(row, "name")]));
  const links = rowsOf(tables, "posts_tags").toSorted(
    (one, other) => Number(one.sort_order ?? 0) - Number(other.sort_order ?? 0),
  );
  const tags = new Map<unknown, string[]>();
  for (const { post_id, tag_id } of links) {
    const name = names.get(tag_id);
    if (name && !name.startsWith("#")) tags.set(post_id, [...(tags.get(post_id) ?? []), name]);
  }
  return tags;
}

/** Files of the content zip by the address that Ghost stores: `content/images/…`. */
function contentFiles(files: readonly ImportFile[]): Map<string, ImportFile> {
  const found = new Map<string, ImportFile>();
  for (const file of files) {
    const within = /(?:^|\/)((?:content\/)?(?:images|media|files)\/.*)$/.exec(file.path)?.[1];
    if (within) found.set(within.startsWith("content/") ? within : `content/${within}`, file);
  }
  return found;
}

const escapeHtml = (text: string): string =>
  text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");

/** Replace Ghost's placeholder for its own address with the origin, or with nothing. */
const resolve = (html: string, origin: string | null): string =>
  html.replaceAll(GHOST_URL, origin ? origin.replace(/\/$/, "") : "");

const CUT = /^members-only$/;

/** A paragraph with the link of a card; its words are those of the element with class `title`. */
function cardLink(card: Element, title: string, draft: HtmlDraft): ElementContent[] {
  const link = findAll(card, ({ tagName }) => tagName === "a")[0];
  const named = findAll(card, (each) => hasClass(each, title))[0];
  const words = named ? oneLine(textOf(named)) : undefined;
  return link ? linkParagraph(addressOf(link, "href"), draft, words) : [];
}

const DIALECT: Dialect = {
  cuts: CUT,
  rewrite(element, draft): ElementContent[] | undefined {
    if (hasClass(element, "kg-bookmark-card")) {
      lose(draft, "embed");
      return cardLink(element, "kg-bookmark-title", draft);
    }
    if (hasClass(element, "kg-gallery-card")) lose(draft, "gallery");
    if (hasClass(element, "kg-product-card")) lose(draft, "product");
    if (hasClass(element, "kg-signup-card") || hasClass(element, "kg-header-card")) {
      lose(draft, "form");
      return [];
    }
    if (hasClass(element, "kg-file-card")) {
      lose(draft, "file");
      return cardLink(element, "kg-file-card-title", draft);
    }
    if (hasClass(element, "kg-callout-card")) return [{ ...element, tagName: "blockquote" }];
    // A section that unfolds there is shown open.
    if (hasClass(element, "kg-toggle-card")) return element.children;
    return undefined;
  },
};

/** The HTML of a post that Ghost did not render: its paragraphs and cards in plain form. */
function cardHtml(row: Row): string {
  const lexical = texts(row, "lexical");
  const mobiledoc = texts(row, "mobiledoc");
  try {
    if (lexical) return lexicalHtml((JSON.parse(lexical) as { root?: unknown }).root, 0);
    if (mobiledoc) return mobiledocHtml(JSON.parse(mobiledoc));
  } catch {
    throw new Unreadable(WORDS.exportedTextDamaged);
  }
  return "";
}

const LEXICAL: Readonly<Record<string, string>> = {
  paragraph: "p",
  quote: "blockquote",
  aside: "blockquote",
  listitem: "li",
  "extended-quote": "blockquote",
};
const DEEPEST = 60;

/** HTML of a Lexical node. */
function lexicalHtml(given: unknown, depth: number): string {
  if (typeof given !== "object" || given === null || depth > DEEPEST) return "";
  const node = given as Row;
  const children = Array.isArray(node.children)
    ? node.children.map((child) => lexicalHtml(child, depth + 1)).join("")
    : "";
  const type = texts(node, "type");
  if (type.endsWith("text"))
    return formatted(escapeHtml(texts(node, "text")), Number(node.format) || 0);
  if (type === "linebreak") return "<br>";
  if (type.endsWith("heading"))
    return wrap(/^h[1-6]$/.exec(texts(node, "tag"))?.[0] ?? "h2", children);
  if (type === "list") return wrap(texts(node, "listType") === "number" ? "ol" : "ul", children);
  if (type === "link") return `<a href="${escapeHtml(texts(node, "url"))}">${children}</a>`;
  if (type === "image")
    return `<img src="${escapeHtml(texts(node, "src"))}" alt="${escapeHtml(texts(node, "alt"))}">`;
  if (type === "codeblock") return `<pre><code>${escapeHtml(texts(node, "code"))}</code></pre>`;
  if (type === "horizontalrule") return "<hr>";
  if (type === "paywall") return "<!--members-only-->";
  if (type === "html") return texts(node, "html");
  if (type === "embed" || type === "bookmark")
    return `<iframe src="${escapeHtml(texts(node, "url"))}"></iframe>`;
  const tag = LEXICAL[type] ?? LEXICAL[type.replace(/^extended-/, "")];
  return tag ? wrap(tag, children) : children;
}

const wrap = (tag: string, inner: string): string => `<${tag}>${inner}</${tag}>`;

/** Wrap a text as the bits of Lexical's format say: bold, italic, strikethrough and code. */
function formatted(text: string, format: number): string {
  const marks: [number, string][] = [
    [16, "code"],
    [4, "del"],
    [2, "em"],
    [1, "strong"],
  ];
  return marks.reduce((made, [bit, tag]) => (format & bit ? wrap(tag, made) : made), text);
}

/** HTML of a Mobiledoc: sections of markers, pictures, lists and cards. */
function mobiledocHtml(document: {
  readonly markups?: readonly (readonly [string, (readonly string[])?])[];
  readonly cards?: readonly (readonly [string, Row])[];
  readonly sections?: readonly (readonly unknown[])[];
}): string {
  const marked = (markers: unknown): string => {
    const open: string[] = [];
    if (!Array.isArray(markers)) return "";
    return markers
      .map(([, opened, closed, text]) => {
        let made = "";
        for (const index of opened as number[]) {
          const [tag = "span", attributes = []] = document.markups?.[index] ?? [];
          const href = attributes[attributes.indexOf("href") + 1] ?? "";
          const name = /^[a-z0-9]+$/.test(tag) ? tag : "span";
          made += name === "a" ? `<a href="${escapeHtml(href)}">` : `<${name}>`;
          open.push(name);
        }
        made += escapeHtml(String(text ?? ""));
        for (let left = Number(closed); left > 0; left -= 1) made += `</${open.pop() ?? "span"}>`;
        return made;
      })
      .join("");
  };
  return (document.sections ?? [])
    .map(([kind, first, second]) => {
      if (kind === 1)
        return wrap(/^(h[1-6]|blockquote)$/.exec(String(first))?.[0] ?? "p", marked(second));
      if (kind === 3) {
        const items = Array.isArray(second) ? second.map((item) => wrap("li", marked(item))) : [];
        return wrap(first === "ol" ? "ol" : "ul", items.join(""));
      }
      if (kind !== 10) return "";
      const [name = "", payload = {}] = document.cards?.[Number(first)] ?? [];
      return mobiledocCard(name, payload);
    })
    .join("\n");
}

function mobiledocCard(name: string, payload: Row): string {
  if (name === "image")
    return `<figure><img src="${escapeHtml(texts(payload, "src"))}" alt="${escapeHtml(texts(payload, "alt"))}"></figure>`;
  if (name === "html") return texts(payload, "html");
  if (name === "code") return `<pre><code>${escapeHtml(texts(payload, "code"))}</code></pre>`;
  if (name === "hr") return "<hr>";
  if (name === "paywall") return "<!--members-only-->";
  if (name === "embed" || name === "bookmark")
    return `<iframe src="${escapeHtml(texts(payload, "url"))}"></iframe>`;
  // Text that was written as Markdown: its lines stay paragraphs.
  return texts(payload, "markdown")
    .split(/\n{2,}/)
    .map((part) => wrap("p", escapeHtml(part)))
    .join("");
}
