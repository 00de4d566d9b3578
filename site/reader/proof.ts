/** The proof of a post: its record on the chain, and checks of the bytes and of corrections. */

import { effect } from "@preact/signals-core";
import { verifyDocument } from "imprint-press";
import { button, fill, h } from "../page/dom.ts";
import { encryptionSentence, isEncrypted } from "../page/encryption.ts";
import { facts } from "../page/facts.ts";
import { reader, session } from "../page/session.ts";
import { explain } from "../wallet/failures.ts";
import { verifyRevision } from "./signed-revision.ts";
import { WORDS } from "./words.ts";

/** Add the marketplace, the chain and the check to the page's proof. */
export function showProof(post: HTMLElement, place: HTMLElement): void {
  const { id = "", cid = "", author = "", free, hosted, revision } = post.dataset;
  const claim = { id, cid, author, revision: Number(revision ?? 0) };
  const result = h("p", { class: "proof-result", role: "status", "aria-live": "polite" });
  const check = button(WORDS.verifyBrowser, () => void verify(claim, result), {
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

interface Claim {
  readonly id: string;
  readonly cid: string;
  readonly author: string;
  /** The number of the newest correction, 0 without one. */
  readonly revision: number;
}

/** Check the document on the chain by its CID, and the newest correction by its signature. */
async function verify({ id, cid, author, revision }: Claim, result: HTMLElement): Promise<void> {
  fill(result, WORDS.fetchingDocument);
  try {
    const bytes = await reader.readPostDocument(id);
    const isSame = await verifyDocument(bytes, cid);
    const sentences = [
      isSame
        ? WORDS.verifiedBrowserDownloadedComputed(WORDS.bytes(bytes.length))
        : WORDS.serviceSentBytesDont,
    ];
    let isSigned: boolean | null = true;
    if (revision > 0) {
      const version = await reader.readPostContent(id, { revision });
      isSigned = await verifyRevision(version, { cid, author });
      const say =
        isSigned === null
          ? WORDS.correctionByContract
          : isSigned
            ? WORDS.correctionSigned
            : WORDS.correctionForged;
      sentences.push(say(revision));
    }
    result.dataset.kind = isSame && isSigned !== false ? "good" : "bad";
    fill(result, sentences.join(" "));
  } catch (error) {
    result.dataset.kind = "bad";
    fill(result, explain(error).sentence);
  }
}
