/** The client of pages for authors; it shares session and clock with the reader. */

import { effect } from "@preact/signals-core";
import { Imprint } from "imprint-press";
import { reader, session, watchSession } from "./session.ts";

export { keepSession, session } from "./session.ts";

class PageClient extends Imprint {
  override now(): number {
    return reader.now();
  }

  override setClock(unixSeconds: number): void {
    reader.setClock(unixSeconds);
  }
}

/** This page's one client for everything that authors do. */
export const imprint = new PageClient(
  reader.url,
  reader.facts,
  // Always revalidated, because the chain may have just changed it; unchanged responses are 304.
  { fetch: (input, init) => watchSession(input, { cache: "no-cache", ...init }) },
);

effect(() => {
  imprint.session = session.value;
});
