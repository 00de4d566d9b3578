/** The search index of the documentation: entries, and their scores for a query. */

import { WORDS } from "./words.ts";

export interface Entry {
  title: string;
  /** Where the entry is: the path of an operation, or the operation of a field. */
  place: string;
  kind: "Operation" | "Error" | "Field" | "Guide";
  anchor: string;
  /** Additional words that find the entry, in lower case. */
  words: string;
}

const WEIGHTS: Record<Entry["kind"], number> = { Operation: 4, Guide: 3, Error: 3, Field: 1 };

/** The entries that contain every word of the query, the best first. */
export function findEntries(entries: readonly Entry[], query: string, most = 12): Entry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, most)
    .map(({ entry }) => entry);
}

function scoreOf(entry: Entry, words: string[]): number {
  const title = entry.title.toLowerCase();
  const place = entry.place.toLowerCase();
  let score = WEIGHTS[entry.kind];
  for (const word of words) {
    if (title === word) score += 40;
    else if (title.startsWith(word)) score += 20;
    else if (title.includes(word)) score += 12;
    else if (place.includes(word)) score += 6;
    else if (entry.words.includes(word)) score += 2;
    else return 0;
  }
  return score;
}

/** Every operation, code, field and chapter of the page. */
export function readEntries(page: Document): Entry[] {
  const found: Entry[] = [];
  for (const heading of page.querySelectorAll(".guide h2"))
    found.push(entry("Guide", heading.textContent, "Guide", heading.id, textAfter(heading)));
  for (const article of page.querySelectorAll("article")) {
    const title = article.querySelector("h3")?.textContent ?? "";
    const route = [...article.querySelectorAll(".route > span")].slice(0, 2);
    const place = route.map((each) => each.textContent).join(" ");
    const about = `${article.id} ${article.querySelector("p:not(.route)")?.textContent ?? ""}`;
    found.push(entry("Operation", title, place, article.id, about));
    const names = new Set(
      [...article.querySelectorAll("dl:not(.errors) dt code")].map((each) => each.textContent),
    );
    for (const name of names) found.push(entry("Field", name, title, article.id, ""));
  }
  for (const row of page.querySelectorAll(".codes > div")) {
    const code = row.querySelector("code")?.textContent ?? null;
    found.push(entry("Error", code, WORDS.errorCode, row.id, row.querySelector("dd")?.textContent));
  }
  return found;
}

const entry = (
  kind: Entry["kind"],
  title: string | null,
  place: string,
  anchor: string,
  words: string | null | undefined,
): Entry => ({ kind, title: title ?? "", place, anchor, words: (words ?? "").toLowerCase() });

/** The text between a heading and the next one. */
function textAfter(heading: Element): string {
  let text = "";
  for (let next = heading.nextElementSibling; next && next.tagName !== "H2"; )
    [text, next] = [`${text} ${next.textContent}`, next.nextElementSibling];
  return text;
}
