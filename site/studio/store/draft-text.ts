/** Derives the title, word count and reading time of a text. */

/** Words read per minute. */
const WORDS_PER_MINUTE = 230;
const TITLE_LENGTH = 120;

/** A picture within the text: `![alt](data:image/webp;base64,… "caption")`. */
export const PICTURE =
  /!\[([^\]\n]{0,1000})\]\((data:image\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=]*)(?: "([^"\n]{0,1000})")?\)/g;

/** The line that ends what everybody may read of a paid post. */
export const MARK = "<!--more-->";

/** The text without the bytes of its pictures. */
export const withoutPictures = (content: string): string => content.replace(PICTURE, "![$1]()");

/** The title of a text that begins with a heading, and what follows it. */
export interface TitledText {
  /** Empty if the text does not begin with a heading. */
  readonly title: string;
  /** The line breaks between title and body, as the author wrote them. */
  readonly gap: string;
  readonly body: string;
}

/** Separate the heading that a text begins with. `joinTitle` restores exactly the same text. */
export function splitTitle(text: string): TitledText {
  const found = /^# (\S(?:[^\n]*\S)?)(\n\n?|$)/.exec(text);
  const [heading = "", title = "", gap = ""] = found ?? [];
  return { title, gap: found ? gap : "\n\n", body: text.slice(heading.length) };
}

export const joinTitle = ({ title, gap, body }: TitledText): string =>
  title ? `# ${title}${body ? gap || "\n\n" : gap}${body}` : body;

/** A title in one line, without the mark of a heading. */
export const titleLine = (typed: string): string =>
  typed
    .replace(/\s+/g, " ")
    .replace(/^ ?#{1,6} /, "")
    .trim();

/** The first heading, otherwise the first line with words; empty if there is none. */
export function titleOf(content: string): string {
  const earlier = earlierTitle(content);
  if (earlier !== null) return earlier.slice(0, TITLE_LENGTH);
  const lines = withoutPictures(content.slice(0, 200_000)).split("\n").map(plainLine);
  const heading = lines.find(({ isHeading, text }) => isHeading && text);
  const first = lines.find(({ text }) => text);
  return ((heading ?? first)?.text ?? "").slice(0, TITLE_LENGTH);
}

/** The mark below which only readers who paid can read on. */
const FREE_UNTIL = /^<!--more-->[ \t]*$/m;
const DESCRIPTION_LENGTH = 200;

/**
 * The beginning of a text in plain words, as far as everybody may read it: whole sentences of its
 * first paragraph if they are short, otherwise as many words as fit.
 */
export function descriptionOf(content: string): string {
  if (earlierTitle(content) !== null) return "";
  const { body } = splitTitle(withoutPictures(content.slice(0, 200_000)));
  const free = body.split(FREE_UNTIL, 1)[0] ?? "";
  const words = free
    .replace(/^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1[^\n]*$/gms, "")
    .split(/\n\s*\n/)
    .map(paragraphWords)
    .find((paragraph) => paragraph !== "");
  if (!words || words.length <= DESCRIPTION_LENGTH) return words ?? "";
  const start = words.slice(0, DESCRIPTION_LENGTH);
  const sentence = /^.*[.!?…。！？]["”’)]*(?=\s|$|[^\p{L}\p{N}])/su.exec(start)?.[0] ?? "";
  if (sentence.length > DESCRIPTION_LENGTH / 3) return sentence;
  return `${start.slice(0, Math.max(start.lastIndexOf(" "), DESCRIPTION_LENGTH / 2)).trimEnd()}…`;
}

/** The words of a paragraph; empty for headings, tables, pictures, notes and rules. */
function paragraphWords(paragraph: string): string {
  if (/^\s*(?:#{1,6}\s|\||!\[|\[\^|<!--)/.test(paragraph)) return "";
  const lines = paragraph.replace(/\[\^[^\]\s]+\]/g, "").split("\n");
  return lines
    .map((line) => plainLine(line).text)
    .filter(Boolean)
    .join(" ");
}

/** How many pictures of a text have no description. */
export const countUndescribed = (content: string): number =>
  withoutPictures(content).match(/!\[\s*\]\(/g)?.length ?? 0;

/** Count words; two ideographs count as one. */
export function countWords(content: string): number {
  const text = withoutPictures(content)
    .replaceAll(MARK, "")
    .replace(/\]\([^)\s]*\)/g, "]");
  const ideographs = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu;
  const letters = text.replace(ideographs, " ");
  const words = letters.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’_-]*/gu)?.length ?? 0;
  return words + Math.ceil((text.match(ideographs)?.length ?? 0) / 2);
}

/** Reading time in whole minutes, at least one if there is a word. */
export const readingMinutes = (words: number): number => Math.ceil(words / WORDS_PER_MINUTE);

/** The size of a text in bytes of UTF-8, which the service limits. */
export function countBytes(content: string): number {
  let bytes = content.length;
  for (let index = 0; index < content.length; index += 1) {
    const unit = content.charCodeAt(index);
    // Each half of a surrogate pair is two of its four bytes.
    if (unit >= 0x80) bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return bytes;
}

function plainLine(line: string): { isHeading: boolean; text: string } {
  const heading = /^ {0,3}#{1,6}(?:[ \t]+|$)(.*?)(?:[ \t]+#+)?[ \t]*$/.exec(line);
  const text = (heading ? (heading[1] ?? "") : line.replace(/^\s*(?:>|[-*+]\s|\d+[.)]\s)+\s*/, ""))
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/(\*\*|__|[*_`~])(?=\S)(.*?\S)\1/g, "$2")
    .replace(/\\([!-/:-@[-`{-~])/g, "$1")
    .trim();
  return { isHeading: heading !== null, text: /[\p{L}\p{N}]/u.test(text) ? text : "" };
}

/** The title of a text that was written with the earlier front end, or null. */
function earlierTitle(content: string): string | null {
  if (!content.startsWith("{")) return null;
  try {
    const parsed: unknown = JSON.parse(content);
    if (typeof parsed !== "object" || parsed === null || !("content" in parsed)) return null;
    return "title" in parsed && typeof parsed.title === "string" ? parsed.title.trim() : null;
  } catch {
    return null;
  }
}
