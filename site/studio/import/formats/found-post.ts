/** A post of another service as it was found in a file: what its draft will say, and what is lost. */

import { WORDS } from "../words.ts";

/** A picture that the chosen files contain. It is read when its draft is created. */
export interface ContainedPicture {
  readonly name: string;
  read(): Promise<Uint8Array>;
}

export type FormatName = "Markdown" | "Ghost" | "Substack" | "Medium" | "WordPress" | "Mirror";

export interface FoundPost {
  readonly format: FormatName;
  /** Identifies the post each time it is found, so that it is imported only once. */
  readonly source: string;
  readonly title: string;
  readonly description: string;
  /** Markdown without the title. Pictures of the archive are at `pictureAddress(index)`. */
  readonly text: string;
  readonly tags: readonly string[];
  /** When the post was first published: `2019-07-26`. */
  readonly date: string | null;
  /** Where the post was first published. */
  readonly address: string | null;
  /** What the author should know before the draft is created, such as “a draft there”. */
  readonly remarks: readonly string[];
  /** The parts that the draft will lack, one sentence each. */
  readonly losses: readonly string[];
  /** Pictures that stay elsewhere: the text links to them. */
  readonly linkedPictures: readonly string[];
  readonly pictures: readonly ContainedPicture[];
  /** The wallet that signed the text, if its signature was verified. */
  readonly signedBy: string | null;
}

/** The address of a picture of the archive until its draft is created. */
export const pictureAddress = (index: number): string => `imported-picture:${index}`;

const PICTURE_ADDRESS = /imported-picture:(\d+)/g;

const DATE = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });

/** The text of the draft. `embedded` has the `data:` URL of each picture, or null. */
export function draftText(post: FoundPost, embedded: readonly (string | null)[]): string {
  const text = post.text.replace(PICTURE_ADDRESS, (_, index) => embedded[Number(index)] ?? "");
  const title = post.title && `# ${post.title.replace(/([\\`*_[\]<#])/g, "\\$1")}`;
  const parts = [title, origin(post), text.trim()].filter((part) => part !== "");
  // JSON may contain halves of surrogate pairs, which UTF-8 has no bytes for.
  return `${parts.join("\n\n").replace(/\p{Surrogate}/gu, "\ufffd")}\n`;
}

/** One line that says when and where the text was first published, and who signed it. */
function origin({ date, address, signedBy }: FoundPost): string {
  if (date === null && address === null) return "";
  const when = date && DATE.format(new Date(`${date}T00:00:00Z`));
  const where = address && `<${address}>`;
  const who = signedBy && `\`${signedBy}\``;
  return `*${WORDS.originallyPublished(when, where, who)}*`;
}

/** The day of a date as other services write it, in UTC; null if it is not a date. */
export function dayOf(written: unknown): string | null {
  const text = written instanceof Date ? isoOf(written) : String(written ?? "").trim();
  const early = /^(\d{4})-(\d{1,2})-(\d{1,2})/.exec(text);
  const parsed = early
    ? new Date(Date.UTC(Number(early[1]), Number(early[2]) - 1, Number(early[3])))
    : new Date(text);
  // `0000-00-00` of WordPress, and what is no date.
  return parsed.getTime() > 0 ? isoOf(parsed).slice(0, 10) : null;
}

const isoOf = (date: Date): string => (Number.isNaN(date.getTime()) ? "" : date.toISOString());

/** A title in one line. */
export const oneLine = (text: string): string => text.replace(/\s+/gu, " ").trim();

/** An address that a text may link to; null for all others, such as `javascript:`. */
export function webAddress(text: string, origin: string | null): string | null {
  const spelled = text.trim();
  try {
    const url = origin === null ? new URL(spelled) : new URL(spelled, origin);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** SHA-256 in hexadecimal digits. */
export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
