/** Medium: the zip of *Settings → Download your information*, one HTML page per post. */

import type { Element, ElementContent, Root } from "hast";
import { WORDS } from "../words.ts";
import { dayOf, type FoundPost, oneLine, webAddress } from "./found-post.ts";
import {
  addressOf,
  type Dialect,
  findAll,
  hasClass,
  linkParagraph,
  lose,
  lossesOf,
  newHtmlDraft,
  parseHtml,
  rewriteTree,
  textOf,
  treeToMarkdown,
} from "./html.ts";

/** The post of a page; null if the page is not from Medium. */
export function parseMedium(path: string, html: string, origin: string | null): FoundPost | null {
  const page = parseHtml(html);
  const first = (isSought: (element: Element) => boolean) => findAll(page, isSought)[0];
  const body = first((each) => each.tagName === "section" && hasClass(each, "e-content"));
  const heading = first((each) => hasClass(each, "p-name"));
  if (!body || !heading || !first((each) => hasClass(each, "h-entry"))) return null;
  const title = oneLine(textOf(heading));
  const summary = first((each) => hasClass(each, "p-summary"));
  const description = summary ? oneLine(textOf(summary)) : "";
  const canonical = first((each) => hasClass(each, "p-canonical"));
  const published = first((each) => each.tagName === "time" && hasClass(each, "dt-published"));
  const tags = findAll(page, (each) => hasClass(each, "p-tag")).map((tag) => oneLine(textOf(tag)));
  const name = path.slice(path.lastIndexOf("/") + 1).replace(/\.html$/i, "");
  const isDraft = name.startsWith("draft_");
  const isComment = !isDraft && isShort(body);
  const draft = newHtmlDraft(origin);
  const repeated = new Set([title, description].filter((text) => text !== ""));
  const tree: Root = { type: "root", children: body.children };
  const text = treeToMarkdown(rewriteTree(tree, draft, dialectOf(repeated)));
  return {
    format: "Medium",
    source: `medium:${/-([0-9a-f]{6,})$/.exec(name)?.[1] ?? name}`,
    title,
    description,
    text,
    tags,
    date: isDraft ? null : dayOf(published && addressOf(published, "datetime")),
    address: isDraft || !canonical ? null : webAddress(addressOf(canonical, "href"), null),
    remarks: [...(isDraft ? [WORDS.wasDraft] : []), ...(isComment ? [WORDS.perhapsComment] : [])],
    losses: lossesOf(draft),
    linkedPictures: [...draft.linkedPictures],
    pictures: [],
    signedBy: null,
  };
}

/** Whether a text has one paragraph and no picture, as comments do. */
const isShort = (body: Element): boolean =>
  findAll(body, ({ tagName }) => tagName === "p").length <= 1 &&
  findAll(body, ({ tagName }) => ["img", "pre", "ul", "ol", "h4"].includes(tagName)).length === 0;

const dialectOf = (repeated: ReadonlySet<string>): Dialect => {
  let isFirstDivider = true;
  return {
    rewrite(element, draft): ElementContent[] | undefined {
      if (hasClass(element, "section-divider")) {
        const isLeft = isFirstDivider;
        isFirstDivider = false;
        return isLeft ? [] : [{ ...element, tagName: "div" }];
      }
      const isHeading = /^h[1-4]$/.test(element.tagName) || hasClass(element, "graf--subtitle");
      // The title and the summary stand above the text already.
      if (isHeading && repeated.has(oneLine(textOf(element)))) return [];
      if (hasClass(element, "graf--mixtapeEmbed")) {
        lose(draft, "embed");
        const link = findAll(element, ({ tagName }) => tagName === "a")[0];
        const words = link && (findAll(link, ({ tagName }) => tagName === "strong")[0] ?? link);
        const address = link ? addressOf(link, "href") : "";
        return linkParagraph(address, draft, words && oneLine(textOf(words)));
      }
      if (hasClass(element, "sectionLayout--outsetRow")) lose(draft, "gallery");
      if (element.tagName === "pre") return [codeOf(element)];
      return undefined;
    },
  };
};

/** Medium writes line ends in code as `<br>`. */
function codeOf(element: Element): Element {
  const lines = (nodes: readonly ElementContent[]): string =>
    nodes
      .map((node) => {
        if (node.type === "text") return node.value;
        if (node.type !== "element") return "";
        return node.tagName === "br" ? "\n" : lines(node.children);
      })
      .join("");
  const text: ElementContent = { type: "text", value: lines(element.children) };
  const code: Element = { type: "element", tagName: "code", properties: {}, children: [text] };
  return { ...element, children: [code] };
}
