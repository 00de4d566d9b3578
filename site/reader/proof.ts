/** The proof of a post: its record on the chain, and checks of record, bytes and corrections. */

import { effect } from "@preact/signals-core";
import { type PostProof, Refusal, verifyDocument, verifyProof } from "imprint-press";
import { button, fill, h } from "../page/dom.ts";
import { encryptionSentence, isEncrypted } from "../page/encryption.ts";
import { facts } from "../page/facts.ts";
import { reader, session } from "../page/session.ts";
import { account } from "../wallet/connection.ts";
import { developmentNode } from "../wallet/development.ts";
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
  const file = h("p");
  void offerProof(id, file);
  place.append(
    h(
      "dl",
      null,
      row(WORDS.marketplace, facts.chain.marketplace),
      row(WORDS.chain, `id ${facts.chain.id}`),
    ),
    file,
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

/** Link the proof as a file, once the block of the post is final. */
async function offerProof(id: string, place: HTMLElement): Promise<void> {
  const proof = await readProof(id);
  if (proof === null) fill(place, WORDS.blockNotFinal);
  else if (proof)
    fill(
      place,
      h(
        "a",
        { href: `/posts/${id}/proof.json`, download: `proof-${id}.json` },
        WORDS.downloadProof,
      ),
    );
}

/** The proof of a post; null before its block is final, undefined if the service sends none. */
async function readProof(id: string): Promise<PostProof | null | undefined> {
  try {
    return await reader.getPostProof(id);
  } catch (error) {
    return error instanceof Refusal && error.code === "not_final" ? null : undefined;
  }
}

/** Compare the proof with the page, and with the chain if there is a wallet to ask. */
async function checkChain({ id, cid, author }: Claim): Promise<{ isGood: boolean; text: string }> {
  const proof = await readProof(id);
  if (proof === null) return { isGood: true, text: WORDS.blockNotFinal };
  if (proof === undefined) return { isGood: true, text: WORDS.chainNotChecked };
  const { log } = proof;
  const isOurs =
    proof.cid === cid && proof.author === author && log.address === facts.chain.marketplace;
  if (!isOurs) return { isGood: false, text: WORDS.chainContradicts };
  const node = account.value?.provider ?? developmentNode;
  // A wallet on another chain, or one that does not respond, confirms nothing.
  const isConfirmed = node && (await verifyProof(node, proof, facts.chain).catch(() => null));
  if (isConfirmed === null) return { isGood: true, text: WORDS.chainNotChecked };
  return isConfirmed
    ? { isGood: true, text: WORDS.chainConfirms(proof.block.number) }
    : { isGood: false, text: WORDS.chainContradicts };
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
async function verify(claim: Claim, result: HTMLElement): Promise<void> {
  const { id, cid, author, revision } = claim;
  fill(result, WORDS.fetchingDocument);
  try {
    const bytes = await reader.readPostDocument(id);
    const isSame = await verifyDocument(bytes, cid);
    const chain = await checkChain(claim);
    const sentences = isSame
      ? [WORDS.verifiedBrowserDownloadedComputed(WORDS.bytes(bytes.length)), chain.text]
      : [WORDS.serviceSentBytesDont];
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
    result.dataset.kind = isSame && chain.isGood && isSigned !== false ? "good" : "bad";
    fill(result, sentences.join(" "));
  } catch (error) {
    result.dataset.kind = "bad";
    fill(result, explain(error).sentence);
  }
}
