/** The versions of a paid post, for those who may read it: what changed, and the first text. */

import { effect } from "@preact/signals-core";
import { fill } from "../page/dom.ts";
import { reader, session } from "../page/session.ts";
import { explain } from "../wallet/failures.ts";
import { WORDS } from "./words.ts";

/** Let the links of the correction show the versions in this page, with the session. */
export function showVersions(correction: HTMLElement, place: HTMLElement): void {
  const links = correction.querySelector<HTMLElement>(".correction-links");
  effect(() => {
    if (links) links.hidden = session.value === null;
    if (session.value === null) place.replaceChildren();
  });
  for (const each of [correction, place])
    each.addEventListener("click", (event) => {
      const link = event.target instanceof Element ? event.target.closest("a") : null;
      const path = link?.getAttribute("href");
      if (!path?.startsWith("/p/") || !/\/(changes|first)(\?|$)/.test(path)) return;
      event.preventDefault();
      void show(path, place);
    });
}

async function show(path: string, place: HTMLElement): Promise<void> {
  place.hidden = false;
  fill(place, WORDS.fetchingVersion);
  try {
    // The service sanitised it, and a template runs and loads nothing.
    const template = document.createElement("template");
    template.innerHTML = await reader.readVersionHtml(path);
    place.replaceChildren(template.content);
    place.tabIndex = -1;
    place.focus();
  } catch (error) {
    fill(place, explain(error).sentence);
  }
}
