/** The client of the pages on which somebody writes; it shares session and clock with the reader. */

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

/** The one client of this page for all that authors do. */
export const imprint = new PageClient(
  reader.url,
  { ...reader.facts, now: reader.now() },
  // What the chain has just changed is asked for anew; what has not comes back as 304.
  { fetch: (input, init) => watchSession(input, { cache: "no-cache", ...init }) },
);

effect(() => {
  imprint.session = session.value;
});
