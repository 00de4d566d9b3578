/** Turns the HTML of other services into Markdown, without anything that Markdown lacks. */

import type { Element, ElementContent, Root, Text } from "hast";
import { toMdast } from "hast-util-to-mdast";
import { Parser } from "htmlparser2";
import { gfmStrikethroughToMarkdown } from "mdast-util-gfm-strikethrough";
import { gfmTableToMarkdown } from "mdast-util-gfm-table";
import { toMarkdown } from "mdast-util-to-markdown";
import { WORDS } from "../words.ts";
import { type ContainedPicture, pictureAddress, webAddress } from "./found-post.ts";
import { LIMITS, Unreadable } from "./limits.ts";

/** The maximum depth, as Markdown indents each level. Deeper elements are read as text. */
const DEPTH = 20;
/** Elements that only group others, which do not count towards the depth. */
const WRAPPERS = new Set("html body div section article main span figure picture tbody".split(" "));
/** Stands for a drawing that is left out. */
const DRAWING = "imprint-drawing";
const NODES = 50_000;
/** The maximum number of open elements; the parser's work grows with it. */
const OPEN = 512;

/** Elements that are removed with their content. */
const DROPPED = new Set(
  "script style noscript template svg math object embed applet form input select textarea button head title link meta base canvas map dialog".split(
    " ",
  ),
);

/** Attributes that the conversion reads. */
const KEPT = new Set(
  "href src alt title start align colspan rowspan data-attrs datetime".split(" "),
);
const PROPERTIES: Record<string, string> = { colspan: "colSpan", rowspan: "rowSpan" };

/** The comment that ends the opening of a post. */
export const MORE = "more";

/** How one service writes elements that Markdown lacks. */
export interface Dialect {
  /** Comments that separate the free part from the rest. */
  readonly cuts?: RegExp;
  /** Replaces an element after its children; undefined leaves it as it is. */
  rewrite?(element: Element, draft: HtmlDraft): ElementContent[] | undefined;
}

type Loss = keyof typeof WORDS.losses;

/** What a conversion knows and learns about its post. */
export interface HtmlDraft {
  /** The address of the old site, for links without one. */
  readonly origin: string | null;
  /** The picture in the archive with this address; null if it is elsewhere. */
  findPicture(address: string): ContainedPicture | null;
  readonly pictures: ContainedPicture[];
  readonly linkedPictures: Set<string>;
  /** Counts what is lost or changed. */
  readonly counts: Map<Loss, number>;
}

export const newHtmlDraft = (
  origin: string | null,
  findPicture: HtmlDraft["findPicture"] = () => null,
): HtmlDraft => ({
  origin,
  findPicture,
  pictures: [],
  linkedPictures: new Set(),
  counts: new Map(),
});

/** Count something that is lost. */
export function lose(draft: HtmlDraft, what: Loss): void {
  draft.counts.set(what, (draft.counts.get(what) ?? 0) + 1);
}

/** The losses in sentences: `2 embeds became links.` */
export const lossesOf = (draft: HtmlDraft): string[] =>
  [...draft.counts].map(([what, number]) => WORDS.losses[what](number));

/** Convert HTML. Throws `Unreadable` if it has too many elements. */
export function htmlToMarkdown(html: string, draft: HtmlDraft, dialect: Dialect = {}): string {
  const text = treeToMarkdown(rewriteTree(parseHtml(html, dialect.cuts), draft, dialect));
  if (text.includes(`<!--${MORE}-->`)) draft.counts.set("paywall", 1);
  return text;
}

/** The tree, reduced to what Markdown can express. */
export function rewriteTree(root: Root, draft: HtmlDraft, dialect: Dialect): Root {
  return { ...root, children: rewriteAll(root.children as ElementContent[], draft, dialect) };
}

export function treeToMarkdown(root: Root): string {
  const tree = toMdast(root, {
    handlers: { comment: () => ({ type: "html", value: `<!--${MORE}-->` }) },
  });
  return toMarkdown(tree, {
    bullet: "-",
    rule: "-",
    fences: true,
    listItemIndent: "one",
    extensions: [gfmTableToMarkdown({ tablePipeAlign: false }), gfmStrikethroughToMarkdown()],
  }).trim();
}

/** Parse HTML into a tree whose only comments match `cuts`. Takes linear time. */
export function parseHtml(html: string, cuts?: RegExp): Root {
  const root: Root = { type: "root", children: [] };
  const open: {
    readonly children: Root["children"];
    readonly isDropped: boolean;
    readonly depth: number;
  }[] = [{ children: root.children, isDropped: false, depth: 0 }];
  let nodes = 0;
  const add = (node: Element | Text | { type: "comment"; value: string }) => {
    nodes += 1;
    if (nodes > NODES) throw new Unreadable(WORDS.tooManyElements);
    open.at(-1)?.children.push(node);
  };
  if (html.length > LIMITS.text) throw new Unreadable(WORDS.htmlTooLarge);
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (open.length > OPEN) throw new Unreadable(WORDS.htmlTooDeep);
        const above = open.at(-1);
        if (!above || above.isDropped || (DROPPED.has(name) && name !== "svg")) {
          open.push({ children: [], isDropped: true, depth: 0 });
          return;
        }
        const depth = above.depth + (WRAPPERS.has(name) ? 0 : 1);
        const element: Element = {
          type: "element",
          tagName: name === "svg" ? DRAWING : name,
          properties: propertiesOf(attributes),
          children: [],
        };
        if (depth <= DEPTH) add(element);
        const children = depth <= DEPTH ? element.children : above.children;
        open.push({ children, isDropped: name === "svg", depth });
      },
      onclosetag() {
        open.pop();
      },
      ontext(value) {
        const above = open.at(-1);
        if (!above || above.isDropped) return;
        const last = above.children.at(-1);
        if (last?.type === "text") last.value += value;
        else add({ type: "text", value });
      },
      oncomment(value) {
        if (!open.at(-1)?.isDropped && cuts?.test(value.trim()))
          add({ type: "comment", value: MORE });
      },
    },
    { lowerCaseTags: true, lowerCaseAttributeNames: true, decodeEntities: true },
  );
  parser.write(html);
  parser.end();
  return root;
}

function propertiesOf(attributes: Record<string, string>): Element["properties"] {
  const properties: Element["properties"] = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") properties.className = value.split(/\s+/).slice(0, 50);
    else if (KEPT.has(name) || name === "data-field" || name === "data-src")
      properties[PROPERTIES[name] ?? name] = value;
  }
  return properties;
}

function rewriteAll(
  nodes: readonly ElementContent[],
  draft: HtmlDraft,
  dialect: Dialect,
): ElementContent[] {
  return nodes.flatMap((node) => {
    if (node.type !== "element") return [node];
    node.children = rewriteAll(node.children, draft, dialect);
    const rewritten = dialect.rewrite?.(node, draft) ?? [node];
    return rewritten.flatMap((each) =>
      each.type === "element" ? rewriteElement(each, draft) : [each],
    );
  });
}

/** The rules for every service: safe links, pictures of the archive, embeds as links. */
function rewriteElement(element: Element, draft: HtmlDraft): ElementContent[] {
  const { tagName, children } = element;
  switch (tagName) {
    case "a":
      return rewriteLink(element, draft);
    case "img":
      return rewritePicture(element, draft);
    case "picture":
      return children.filter((child) => child.type === "element" && child.tagName === "img");
    case DRAWING:
      lose(draft, "drawing");
      return [];
    case "iframe": {
      lose(draft, "embed");
      return linkParagraph(addressOf(element, "src"), draft);
    }
    case "video":
    case "audio": {
      lose(draft, "media");
      const source = children.find(
        (child) => child.type === "element" && child.tagName === "source",
      );
      const given = addressOf(element, "src") || (source && addressOf(source as Element, "src"));
      return linkParagraph(given || "", draft);
    }
    case "figcaption":
      return [{ ...element, tagName: "p", children: [emphasis(children)] }];
    default:
      return [element];
  }
}

const emphasis = (children: ElementContent[]): ElementContent => ({
  type: "element",
  tagName: "em",
  properties: {},
  children,
});

function rewriteLink(element: Element, draft: HtmlDraft): ElementContent[] {
  const href = addressOf(element, "href");
  if (href === "") return element.children;
  // A link within the page, as of footnotes: headings have other anchors here.
  if (href.startsWith("#")) return element.children;
  const address = webAddress(href, draft.origin);
  if (address === null) {
    if (!/^\s*(javascript|data|vbscript|file|blob):/i.test(href)) lose(draft, "link");
    return element.children;
  }
  // A picture that links to itself.
  const only = element.children.filter((child) => child.type !== "text" || child.value.trim());
  if (only.length === 1 && only[0]?.type === "element" && only[0].tagName === "img") return only;
  return [{ ...element, properties: { href: address } }];
}

function rewritePicture(element: Element, draft: HtmlDraft): ElementContent[] {
  const src = addressOf(element, "src") || addressOf(element, "data-src");
  const alt = oneLineOf(element.properties.alt);
  const inside = findData(src) ?? draft.findPicture(src);
  const address = inside
    ? pictureAddress(draft.pictures.push(inside) - 1)
    : webAddress(src, draft.origin);
  if (address === null) {
    if (src) lose(draft, /^data:image\/svg/i.test(src) ? "drawing" : "picture");
    return alt ? [{ type: "text", value: alt }] : [];
  }
  if (!inside) draft.linkedPictures.add(address);
  return [{ ...element, properties: { src: address, alt } }];
}

/** A picture within the HTML. */
function findData(address: string): ContainedPicture | null {
  const found = /^data:image\/(?:png|jpeg|gif|webp);base64,([\w+/=\s]+)$/.exec(address)?.[1];
  if (found === undefined) return null;
  return {
    name: WORDS.pictureInText,
    read: async () => Uint8Array.from(atob(found), (letter) => letter.charCodeAt(0)),
  };
}

const oneLineOf = (value: unknown): string =>
  String(value ?? "")
    .replace(/[\s[\]]+/g, " ")
    .trim();

/** An attribute as text. */
export const addressOf = (element: Element, name: string): string =>
  String(element.properties[name] ?? "").trim();

/** A paragraph with a link, such as in place of an embed. */
export function linkParagraph(given: string, draft: HtmlDraft, words?: string): ElementContent[] {
  const address = webAddress(watchAddress(given), draft.origin);
  if (address === null) return words ? [paragraph([{ type: "text", value: words }])] : [];
  const text: Text = { type: "text", value: words || address };
  return [
    paragraph([{ type: "element", tagName: "a", properties: { href: address }, children: [text] }]),
  ];
}

export const paragraph = (children: ElementContent[]): Element => ({
  type: "element",
  tagName: "p",
  properties: {},
  children,
});

/** The page of a video instead of its player. */
function watchAddress(address: string): string {
  const spelled = address.startsWith("//") ? `https:${address}` : address;
  const video = /^https?:\/\/(?:www\.)?youtube(?:-nocookie)?\.com\/embed\/([\w-]+)/.exec(spelled);
  if (video) return `https://www.youtube.com/watch?v=${video[1]}`;
  const vimeo = /^https?:\/\/player\.vimeo\.com\/video\/(\d+)/.exec(spelled);
  return vimeo ? `https://vimeo.com/${vimeo[1]}` : spelled;
}

export const hasClass = (element: Element, name: string): boolean =>
  (element.properties.className as string[] | undefined)?.includes(name) ?? false;

/** All elements below a node that satisfy a condition, in order. */
export function findAll(
  node: { readonly children: readonly (Root["children"][number] | ElementContent)[] },
  isSought: (element: Element) => boolean,
): Element[] {
  return node.children.flatMap((child) =>
    child.type === "element"
      ? [...(isSought(child) ? [child] : []), ...findAll(child, isSought)]
      : [],
  );
}

/** The text of a node. */
export function textOf(node: {
  readonly children: readonly (Root["children"][number] | ElementContent)[];
}): string {
  return node.children
    .map((child) =>
      child.type === "text" ? child.value : child.type === "element" ? textOf(child) : "",
    )
    .join("");
}

/** Text with its entities decoded: `&#x201C;` in titles. */
export const decodeEntities = (text: string): string => textOf(parseHtml(text));
