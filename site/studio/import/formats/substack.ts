/** Substack: the zip of *Settings → Export*, with `posts.csv` and one HTML file per post. */

import type { Element, ElementContent } from "hast";
import Papa from "papaparse";
import { WORDS } from "../words.ts";
import { decodeText, type ImportFile } from "./files.ts";
import { dayOf, type FoundPost, oneLine, webAddress } from "./found-post.ts";
import {
  addressOf,
  type Dialect,
  decodeEntities,
  findAll,
  hasClass,
  htmlToMarkdown,
  linkParagraph,
  lose,
  lossesOf,
  MORE,
  newHtmlDraft,
  paragraph,
  textOf,
} from "./html.ts";
import { LIMITS } from "./limits.ts";

/** A line of `posts.csv`, by the names of its columns. */
export type SubstackRow = Readonly<Record<string, string>>;

/** The rows of `posts.csv`; null if the text is another table. */
export function substackRows(csv: string): SubstackRow[] | null {
  const { data, meta } = Papa.parse<SubstackRow>(csv, {
    header: true,
    skipEmptyLines: true,
    preview: LIMITS.files,
  });
  return meta.fields?.includes("post_id") && meta.fields.includes("audience") ? data : null;
}

/** The post of a row and the HTML file with its text. */
export async function parseSubstack(
  row: SubstackRow,
  file: ImportFile,
  origin: string | null,
): Promise<FoundPost> {
  const id = row.post_id ?? "";
  const { text: html } = decodeText(await file.read(LIMITS.text));
  const draft = newHtmlDraft(origin);
  const text = htmlToMarkdown(html, draft, DIALECT);
  const isPublished = /^true$/i.test(row.is_published ?? "");
  const slug = id.slice(id.indexOf(".") + 1);
  const audience = row.audience ?? "";
  return {
    format: "Substack",
    source: `substack:${id}`,
    title: oneLine(decodeEntities(row.title ?? "")),
    description: oneLine(decodeEntities(row.subtitle ?? "")),
    text,
    tags: [],
    date: isPublished ? dayOf(row.post_date) : null,
    address:
      isPublished && origin && slug ? webAddress(`/p/${encodeURIComponent(slug)}`, origin) : null,
    remarks: [
      ...(isPublished ? [] : [WORDS.wasDraft]),
      ...(row.type && row.type !== "newsletter" ? [WORDS.wasOfType(row.type)] : []),
    ],
    losses: [
      ...(audience === "only_paid" || audience === "founding"
        ? [WORDS.wasForPayingSubscribers]
        : []),
      ...(row.podcast_url ? [WORDS.podcastStays] : []),
      ...lossesOf(draft),
    ],
    linkedPictures: [...draft.linkedPictures],
    pictures: [],
    signedBy: null,
  };
}

const PLAIN = ["subscription-widget", "button-wrapper", "share-dialog", "subscription-widget-wrap"];

const DIALECT: Dialect = {
  rewrite(element, draft): ElementContent[] | undefined {
    if (hasClass(element, "paywall-jump")) return [{ type: "comment", value: MORE }];
    if (PLAIN.some((name) => hasClass(element, name))) {
      lose(draft, "button");
      return [];
    }
    if (hasClass(element, "poll-embed")) {
      lose(draft, "form");
      return [];
    }
    const data = dataOf(element);
    if (hasClass(element, "latex-rendered")) {
      const formula = data.persistentExpression;
      return typeof formula === "string" ? [codeBlock(formula)] : undefined;
    }
    if (hasClass(element, "native-video-embed") || hasClass(element, "native-audio-embed")) {
      lose(draft, "media");
      return [];
    }
    if (hasClass(element, "image-gallery-embed")) {
      lose(draft, "gallery");
      const gallery = data.gallery as { images?: readonly { src?: unknown }[] } | undefined;
      return (gallery?.images ?? []).map(({ src }) => paragraph([image(String(src ?? ""), "")]));
    }
    if (hasClass(element, "tweet") || hasClass(element, "digest-post-embed")) {
      lose(draft, "embed");
      const link = findAll(element, ({ tagName }) => tagName === "a")[0];
      const address = data.url ?? data.canonical_url ?? (link && addressOf(link, "href"));
      const words = oneLine(textOf(element)).slice(0, 300);
      return linkParagraph(String(address ?? ""), draft, words || undefined);
    }
    if (hasClass(element, "file-embed-wrapper")) {
      lose(draft, "file");
      const link = findAll(element, ({ tagName }) => tagName === "a")[0];
      return link ? linkParagraph(addressOf(link, "href"), draft) : [];
    }
    if (hasClass(element, "comment")) {
      lose(draft, "embed");
      return [];
    }
    if (hasClass(element, "mention-wrap"))
      return [{ type: "text", value: String(data.name ?? textOf(element)) }];
    if (/^h[1-6]$/.test(element.tagName))
      return [{ ...element, children: withoutStrong(element.children) }];
    if (element.tagName === "img")
      return [{ ...element, properties: { ...element.properties, src: original(element) } }];
    return undefined;
  },
};

/** The values that Substack stores beside an element. */
function dataOf(element: Element): Readonly<Record<string, unknown>> {
  const given = addressOf(element, "data-attrs");
  if (given === "") return {};
  try {
    const data: unknown = JSON.parse(given);
    return typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The original address of a picture, instead of that of a resized copy. */
function original(element: Element): string {
  const src = addressOf(element, "src") || String(dataOf(element).src ?? "");
  if (src.length > 4000) return src;
  const fetched = /^https:\/\/substackcdn\.com\/image\/fetch\/.*\/(https?%3A[^/]+)$/i.exec(
    src,
  )?.[1];
  let address = src;
  try {
    if (fetched) address = decodeURIComponent(fetched);
  } catch {
    // The resized picture is better than none.
  }
  return address.replace(
    /^https:\/\/bucketeer-[\w-]+\.s3\.amazonaws\.com/,
    "https://substack-post-media.s3.amazonaws.com",
  );
}

const image = (src: string, alt: string): Element => ({
  type: "element",
  tagName: "img",
  properties: { src, alt },
  children: [],
});

const codeBlock = (text: string): Element => ({
  type: "element",
  tagName: "pre",
  properties: {},
  children: [
    { type: "element", tagName: "code", properties: {}, children: [{ type: "text", value: text }] },
  ],
});

const withoutStrong = (children: ElementContent[]): ElementContent[] =>
  children.flatMap((child) =>
    child.type === "element" && child.tagName === "strong" ? child.children : [child],
  );
