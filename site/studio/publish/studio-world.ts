/** What publications of this page use: the open draft, the client, the wallet and its chain. */

import {
  type Call,
  changePriceCall,
  createPostCall,
  findReceipt,
  type Provider,
  Refusal,
} from "imprint-press";
import { imprint } from "../../page/service.ts";
import { type Account, account, explain, onRightChain } from "../../wallet/index.ts";
import { openDraft } from "../opening.ts";
import { keepPictures, keepProgress, recallPictures } from "./kept-publication.ts";
import {
  countTransactions,
  findEntry,
  findRefusal,
  knowsTransaction,
  refusalSentence,
} from "./marketplace-entries.ts";
import type { Progress } from "./progress.ts";
import { type Failure, type PublicationWorld, Stopped } from "./publication.ts";

const marketplace = imprint.facts.chain.marketplace;

/** How long to wait between two questions, in milliseconds. */
const PAUSE = 1000;

/** Codes of wallets and nodes after which nothing was sent (EIP-1193, EIP-1474). */
const NOTHING_SENT = new Set([4001, 4100, 4200, 4900, 4901, 4902, -32000, -32003, -32602]);

/** The account that publishes; its wallet may show another one meanwhile. Throws `Stopped`. */
function present(address: string): Account {
  const shown = account.value;
  if (shown?.address.toLowerCase() === address.toLowerCase()) return shown;
  throw new Stopped({
    sentence: "Your wallet shows another account. Switch back to the author’s, then go on.",
    actions: ["retry"],
  });
}

/** The world of one draft. `onKey` hears the key that a first save gives it. */
export function worldOf(
  address: Account["address"],
  draftKey: string,
  onKey: (key: string) => Promise<void>,
): PublicationWorld {
  let key = draftKey;
  const provider = (): Provider => present(address).provider;
  const save = async (isNew: boolean): Promise<{ cid: string } | { postId: string }> => {
    let moved = Promise.resolve();
    const renamed = (next: string) => {
      key = next;
      moved = onKey(next);
    };
    const draft = await openDraft(key, { onText: () => undefined, onKey: renamed });
    try {
      await draft.save({ isAsked: true });
      await moved;
      const state = draft.saving.value;
      if (state.kind === "gone" && state.postId) return { postId: state.postId };
      if (state.kind !== "saved" || draft.base === null) throw new Stopped(unsaved(state));
      if (!isNew) return { cid: draft.base };
      const { wallet } = present(address);
      return { cid: (await imprint.updateDraft(wallet, draft.base, draft.text.value)).cid };
    } finally {
      await draft.close();
    }
  };
  return {
    marketplace,
    save,
    upload: (progress) => upload(present(address), key, progress),
    call: ({ cid, thumbnailCid, details }) => {
      if (!cid || !thumbnailCid) throw new TypeError("Nothing is uploaded yet.");
      const { price, hashtags, ...texts } = details;
      const post = { ...texts, price: BigInt(price), hashtags: [...hashtags] };
      return createPostCall(marketplace, { cid, thumbnailCid, ...post });
    },
    findEntry: (cid) => findEntry(provider(), marketplace, cid),
    check: (call) => checkCall(present(address), call),
    countTransactions: (which) => countTransactions(provider(), address, which),
    send: (call) => present(address).wallet.sendTransaction(call),
    hasSentNothing,
    findReceipt: (hash) => findReceipt(provider(), hash),
    knowsTransaction: (hash) => knowsTransaction(provider(), hash),
    findRefusal: (call) => findRefusal(provider(), address, call),
    isListed,
    keep: (progress) => keepProgress(address, key, progress),
    explain: explainFailure,
    pause: () => new Promise((resolve) => setTimeout(resolve, PAUSE)),
  };
}

/** The right chain, and a contract that would not refuse. Throws `Stopped`. */
export async function checkCall(by: Account, call: Call): Promise<void> {
  await onRightChain(by);
  const refusal = await findRefusal(by.provider, by.address, call);
  if (refusal !== null) throw new Stopped({ sentence: refusal, actions: ["retry", "edit"] });
}

/** The call that changes a price. */
export const priceCall = (postId: string, price: bigint): Call =>
  changePriceCall(marketplace, postId, price);

async function upload(by: Account, key: string, progress: Progress): Promise<string | null> {
  const { thumbnail, source } = await recallPictures(by.address, key);
  if (!thumbnail || !progress.cid) {
    const sentence = "The picture is not in this browser any more. Go back and choose it again.";
    throw new Stopped({ sentence, actions: ["edit"] });
  }
  try {
    const { thumbnailCid } = await imprint.publishDraft(by.wallet, progress.cid, {
      thumbnail,
      hashtags: [...progress.details.hashtags],
    });
    await keepPictures(by.address, key, { source, thumbnail: null }).catch(() => undefined);
    return thumbnailCid;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.code === "not_pending" || error.code === "not_found") return null;
    if (error.problem.now !== undefined) imprint.setClock(error.problem.now);
    throw error;
  }
}

async function isListed(postId: string, cid: string): Promise<boolean> {
  try {
    const post = await imprint.showPost(postId);
    if (cid !== "" && post.cid !== cid) return false;
    return post.hosted;
  } catch (error) {
    const isEarly = error instanceof Refusal && /^(not_found|index_unavailable)$/.test(error.code);
    if (isEarly) return false;
    throw error;
  }
}

export function hasSentNothing(error: unknown): boolean {
  if (error instanceof Stopped || explain(error).isCancelled) return true;
  const { code } = (error ?? {}) as { code?: unknown };
  return refusalSentence(error) !== null || NOTHING_SENT.has(Number(code));
}

export function explainFailure(error: unknown): Failure {
  const refusal = refusalSentence(error);
  if (refusal !== null) return { sentence: refusal, actions: ["retry", "edit"] };
  const { sentence, action } = explain(error);
  if (error instanceof Refusal && error.code === "invalid_image") {
    return { sentence: `${sentence} Choose another picture.`, actions: ["edit"] };
  }
  return { sentence, actions: action === "sign-in" ? ["sign-in", "retry"] : ["retry"] };
}

function unsaved(state: { kind: string; sentence?: string }): Failure {
  if (state.kind === "conflict") {
    const sentence =
      "Another tab or machine has changed this text. Open it, choose what to keep, then publish.";
    return { sentence, actions: ["edit"] };
  }
  if (state.kind === "gone") {
    return { sentence: "The service has no such draft any more.", actions: ["edit"] };
  }
  return { sentence: state.sentence ?? "The text is not saved yet.", actions: ["retry"] };
}
