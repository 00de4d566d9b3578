/** WordPress: the XML of *Tools → Export* (WXR), which may be split into several files. */

import { Parser } from "htmlparser2";
import { WORDS } from "../words.ts";
import { dayOf, type FoundPost, oneLine, webAddress } from "./found-post.ts";
import {
  type Dialect,
  decodeEntities,
  type HtmlDraft,
  htmlToMarkdown,
  lose,
  lossesOf,
  newHtmlDraft,
} from "./html.ts";
import { LIMITS, Unreadable } from "./limits.ts";

/** An item of the export with its fields, as texts. */
export interface WordPressItem {
  readonly fields: Readonly<Record<string, string>>;
  readonly categories: readonly { readonly domain: string; readonly name: string }[];
  readonly meta: Readonly<Record<string, string>>;
  readonly comments: number;
}

const DEEPEST = 12;
const MOST_ITEMS = 100_000;

export const isWordPress = (xml: string): boolean =>
  /<rss\b/.test(xml.slice(0, 10_000)) && xml.includes("http://wordpress.org/export/");

/**
 * The items of an export. The parser expands only the five entities of XML, not those that a
 * document type declares. It accepts control characters, which old exports contain.
 */
export function wordPressItems(xml: string): WordPressItem[] {
  const items: WordPressItem[] = [];
  const open: string[] = [];
  let item: Building | null = null;
  let text = "";
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        open.push(name);
        if (open.length > DEEPEST) throw new Unreadable(WORDS.xmlTooDeep);
        text = "";
        if (name === "item") item = newBuilding();
        if (name === "category" && item) item.domain = attributes.domain ?? "";
      },
      ontext(value) {
        text += value;
      },
      onclosetag(name) {
        open.pop();
        if (!item) return;
        if (name === "item") {
          if (items.length >= MOST_ITEMS) throw new Unreadable(WORDS.tooManyItems);
          items.push(item);
          item = null;
        } else close(item, name, text, open.at(-1) ?? "");
        text = "";
      },
    },
    { xmlMode: true, decodeEntities: true, recognizeCDATA: true },
  );
  parser.write(xml);
  parser.end();
  return items;
}

interface Building extends WordPressItem {
  readonly fields: Record<string, string>;
  readonly categories: { domain: string; name: string }[];
  readonly meta: Record<string, string>;
  comments: number;
  domain: string;
  key: string;
}

const newBuilding = (): Building => ({
  fields: Object.create(null) as Record<string, string>,
  categories: [],
  meta: Object.create(null) as Record<string, string>,
  comments: 0,
  domain: "",
  key: "",
});

function close(item: Building, name: string, text: string, parent: string): void {
  if (name === "wp:comment") item.comments += 1;
  else if (name === "category") item.categories.push({ domain: item.domain, name: text });
  else if (name === "wp:meta_key") item.key = text;
  else if (name === "wp:meta_value" && parent === "wp:postmeta") item.meta[item.key] = text;
  else if (parent === "item") item.fields[name] = text;
}

/** Builds a post from an item that is a post or page with a text; null for all others. */
export function wordPressReader(
  items: readonly WordPressItem[],
  origin: string | null,
): (item: WordPressItem) => FoundPost | null {
  const attachments = new Map(
    items
      .filter(({ fields }) => fields["wp:post_type"] === "attachment")
      .map(({ fields }) => [fields["wp:post_id"] ?? "", fields["wp:attachment_url"] ?? ""]),
  );
  return (item) => {
    const { fields, meta } = item;
    const type = fields["wp:post_type"] ?? "";
    const status = fields["wp:status"] ?? "";
    if (!["post", "page"].includes(type) || ["trash", "auto-draft", "inherit"].includes(status))
      return null;
    const link = webAddress(fields.link ?? "", null);
    const draft = newHtmlDraft(origin ?? link);
    const thumbnail = attachments.get(meta._thumbnail_id ?? "");
    const lead = thumbnail ? `<p><img src="${thumbnail.replace(/["<>&]/g, "")}" alt=""></p>\n` : "";
    const written = fields["content:encoded"] ?? "";
    const expanded = expandShortcodes(written, attachments, draft);
    const body = isClassic(written) ? addParagraphs(expanded) : expanded;
    const text = htmlToMarkdown(lead + body, draft, DIALECT);
    const isPublished = status === "publish" || status === "private";
    return {
      format: "WordPress",
      source: `wordpress:${fields.guid || link || `${fields["wp:post_id"]} ${fields.title}`}`,
      title: oneLine(decodeEntities(fields.title ?? "")),
      description: oneLine(decodeEntities(fields["excerpt:encoded"] ?? "")),
      text,
      tags: [
        ...new Set(
          item.categories
            .filter(({ domain }) => domain === "post_tag" || domain === "category")
            .map(({ name }) => oneLine(decodeEntities(name)))
            .filter((name) => name !== "" && name !== "Uncategorized"),
        ),
      ],
      date: isPublished ? (dayOf(fields["wp:post_date_gmt"]) ?? dayOf(fields.pubDate)) : null,
      address: isPublished ? link : null,
      remarks: [
        ...(type === "page" ? [WORDS.wasPage] : []),
        ...(isPublished ? [] : [WORDS.wasDraft]),
        ...(status === "private" ? [WORDS.wasPrivate] : []),
      ],
      losses: [
        ...(fields["wp:post_password"] ? [WORDS.hadPassword] : []),
        ...(item.comments ? [WORDS.commentsStay(item.comments)] : []),
        ...lossesOf(draft),
      ],
      linkedPictures: [...draft.linkedPictures],
      pictures: [],
      signedBy: null,
    };
  };
}

const DIALECT: Dialect = { cuts: /^more\b/ };

/** Expand shortcodes to HTML like WordPress; unknown ones are removed, but their text stays. */
function expandShortcodes(
  html: string,
  attachments: ReadonlyMap<string, string>,
  draft: HtmlDraft,
): string {
  if (html.length > LIMITS.text) throw new Unreadable(WORDS.htmlTooLarge);
  const picture = (address: string) => `<img src="${address.replace(/["<>&]/g, "")}" alt="">`;
  return html
    .replace(
      /\[caption[^\]]{0,500}\]\s{0,9}((?:<a[^>]{0,2000}>)?\s{0,9}<img[^>]{0,2000}>\s{0,9}(?:<\/a>)?)([^[]{0,2000})\[\/caption\]/g,
      "<figure>$1<figcaption>$2</figcaption></figure>",
    )
    .replace(/\[gallery([^\]]{0,2000})\]/g, (_, given: string) => {
      lose(draft, "gallery");
      const ids = /ids="([\d,\s]*)"/.exec(given)?.[1]?.split(",") ?? [];
      const addresses = ids.map((id) => attachments.get(id.trim()));
      return addresses
        .filter((address) => address !== undefined)
        .map((address) => `<p>${picture(address)}</p>`)
        .join("\n");
    })
    .replace(
      /\[(embed|video|audio|youtube)[^\]]{0,500}\]([^[\s"<>]{0,2000})\[\/\1\]/g,
      '<iframe src="$2"></iframe>',
    )
    .replace(
      /^[ \t]*(https?:\/\/(?:www\.)?(?:youtube\.com\/watch|youtu\.be\/|vimeo\.com\/|twitter\.com\/)[^\s"<>]*)[ \t]*$/gm,
      '<p><a href="$1">$1</a></p>',
    )
    .replace(/\[(?:code|sourcecode)\b[^\]]{0,200}\]/g, "<pre><code>")
    .replace(/\[\/(?:code|sourcecode)\]/g, "</code></pre>")
    .replace(/\[\/?(?:vc|et|su|fusion|av|contact|wp)[_-][^\]]{0,1000}\]/g, () => {
      lose(draft, "shortcode");
      return "";
    });
}

const BLOCK =
  "address|article|aside|blockquote|details|div|dl|fieldset|figure|footer|form|h[1-6]|header|hr|iframe|li|main|nav|ol|p|pre|section|table|tbody|td|tfoot|th|thead|tr|ul|!--";
const STARTS_BLOCK = new RegExp(`^\\s*</?(?:${BLOCK})\\b|^\\s*<!--`, "i");

const isClassic = (html: string): boolean => !/<!-- wp:|<p[\s>]/.test(html);

/** Paragraphs of classic posts, which are separated by blank lines only. */
function addParagraphs(html: string): string {
  let isCode = false;
  return html
    .split(/(<pre\b|<\/pre>)/i)
    .map((part) => {
      if (/^<\/?pre$|^<\/pre>$/i.test(part)) isCode = !part.startsWith("</");
      // Code may have blank lines.
      return isCode || part.startsWith("<") ? part : paragraphsOf(part);
    })
    .join("");
}

const paragraphsOf = (html: string): string =>
  html
    .split(/\n\s*\n/)
    .filter((each) => each.trim() !== "")
    .map((each) =>
      STARTS_BLOCK.test(each) ? each : `<p>${each.trim().replace(/\n/g, "<br>\n")}</p>`,
    )
    .join("\n");
