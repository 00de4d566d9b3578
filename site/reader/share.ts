/** Shares a post through the device if possible, otherwise by a link to copy. */

import { button } from "../page/dom.ts";
import { notify } from "../page/notices.ts";
import { WORDS } from "./words.ts";

/** Add the button beside the link that needs no script. */
export function offerSharing(place: HTMLElement): void {
  const url = canonicalAddress();
  const canShare = typeof navigator.share === "function";
  const share = async () => {
    try {
      if (canShare) return await navigator.share({ title: document.title, url });
      const { copyText } = await import("../page/clipboard.ts");
      await copyText(url);
      notify({ kind: "good", text: WORDS.linkCopied });
    } catch (error) {
      // A reader who closes the device's dialog has decided.
      if (error instanceof Error && error.name === "NotCopied")
        notify({ kind: "bad", text: error.message });
    }
  };
  place.append(
    button(canShare ? WORDS.share : WORDS.copyLink, () => void share(), { class: "button" }),
  );
}

const canonicalAddress = (): string =>
  document.querySelector<HTMLLinkElement>('link[rel="canonical"]')?.href ?? location.href;
