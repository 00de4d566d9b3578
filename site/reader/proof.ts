/** The proof of a post: its record on the chain, and a check of the bytes in this browser. */

import { effect } from "@preact/signals-core";
import { verifyDocument } from "imprint-press";
import { button, fill, h } from "../page/dom.ts";
import { encryptionSentence, isEncrypted } from "../page/encryption.ts";
import { facts } from "../page/facts.ts";
import { reader, session } from "../page/session.ts";
import { explain } from "../wallet/failures.ts";
import { WORDS } from "./words.ts";

/** Add the marketplace, the chain and the check to the page's proof. */
export function showProof(post: HTMLElement, place: HTMLElement): void {
  const { id = "", cid = "", free, hosted } = post.dataset;
  const result = h("p", { class: "proof-result", role: "status", "aria-live": "polite" });
  const check = button(WORDS.verifyBrowser, () => void verify(id, cid, result), {
    class: "button",
  });
  const way = h("div");
  place.append(
    h(
      "dl",
      null,
      row(WORDS.marketplace, facts.chain.marketplace),
      row(WORDS.chain, `id ${facts.chain.id}`),
    ),
    way,
    result,
  );
  effect(() => {
    const isReadable = free === "true" || session.value !== null;
    if (hosted !== "true") fill(way, h("p", null, WORDS.documentIsntStoredSite));
    else if (!isEncrypted()) fill(way, h("p", null, encryptionSentence(WORDS.verifyingHere)));
    else if (isReadable) fill(way, h("p", null, check));
    else fill(way, h("p", null, WORDS.documentPaidPostIsnt));
  });
}

const row = (name: string, value: string): HTMLElement =>
  h("div", null, h("dt", null, name), h("dd", null, h("code", null, value)));

async function verify(id: string, cid: string, result: HTMLElement): Promise<void> {
  fill(result, WORDS.fetchingDocument);
  try {
    const bytes = await reader.readPostDocument(id);
    const isSame = await verifyDocument(bytes, cid);
    result.dataset.kind = isSame ? "good" : "bad";
    fill(
      result,
      isSame
        ? WORDS.verifiedBrowserDownloadedComputed(WORDS.bytes(bytes.length))
        : WORDS.serviceSentBytesDont,
    );
  } catch (error) {
    result.dataset.kind = "bad";
    fill(result, explain(error).sentence);
  }
}
