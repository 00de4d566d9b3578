/** The facts of the service, which every page carries, so that no request is needed for them. */

import type { ServiceFacts } from "imprint-press";

/** Like `/.well-known/imprint.json`, except for `now`: a page may come from a cache. */
type PageFacts = Omit<ServiceFacts, "now">;

/** The facts that this page carries. Throws if the page has none. */
function readFacts(page: Document): PageFacts {
  const text = page.getElementById("facts")?.textContent;
  if (!text) throw new Error("This page does not carry the facts of its service.");
  return JSON.parse(text) as PageFacts;
}

export const facts: PageFacts = readFacts(document);

/** The contact of the publication (`mailto:` or `https:`); null if it names none. */
export const contact: string | null = document.getElementById("facts")?.dataset.contact ?? null;

/** Whether this is `imprint dev`, whose node has accounts that sign without a prompt. */
export const isDevelopment: boolean = facts.features.includes("development");
