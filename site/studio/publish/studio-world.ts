/** What publications of this page use: the open draft, the client, the wallet and its chain. */

import {
  type Call,
  changePriceCall,
  createPostCall,
  findReceipt,
  type Provider,
  Refusal,
  Unreachable,
} from "imprint-press";
import { imprint } from "../../page/service.ts";
import { recall, remember } from "../../page/storage.ts";
import {
  type Account,
  account,
  explain,
  hasSentNothing,
  onRightChain,
  WrongChain,
} from "../../wallet/index.ts";
import { openDraft } from "../draft-loader.ts";
import { type Failure, Stopped } from "./failure.ts";
import { keepProgress, recallPictures, recallProgress } from "./kept-publication.ts";
import {
  countTransactions,
  findEntry,
  findNonce,
  findRefusal,
  readPrice,
  refusalSentence,
} from "./marketplace-entries.ts";
import type { PriceChange } from "./price-change.ts";
import type { Progress } from "./progress.ts";
import type { PublicationWorld } from "./publication.ts";
import type { RepricingWorld } from "./repricing.ts";
import type { Chain } from "./sent-transaction.ts";
import { isLocked, lockIsFree, takeLock } from "./tab-lock.ts";

const { id: chainId, marketplace } = imprint.facts.chain;

/** The account that publishes; its wallet may show another one meanwhile. Throws `Stopped`. */
function present(address: string): Account {
  const shown = account.value;
  if (shown?.address.toLowerCase() === address.toLowerCase()) return shown;
  throw new Stopped({
    sentence: "Your wallet shows another account. Switch back to the author’s, then go on.",
    actions: ["retry"],
  });
}

/** The chain as the account's wallet shows it. */
function chainOf(address: Account["address"]): Chain {
  const provider = (): Provider => present(address).provider;
  return {
    async check() {
      const found = Number(await provider().request({ method: "eth_chainId" }));
      if (found !== chainId) throw new WrongChain(found);
    },
    countTransactions: (which) => countTransactions(provider(), address, which),
    findReceipt: (hash) => findReceipt(provider(), hash),
    findNonce: (hash) => findNonce(provider(), hash),
  };
}

const pause = (seconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** What publications and changes of a price share: the wallet of an account, and its failures. */
const walletWorld = (address: Account["address"]) => ({
  chain: chainOf(address),
  switchChain: () => onRightChain(present(address)),
  findRefusal: (call: Call) => findRefusal(present(address).provider, address, call),
  send: (call: Call) => present(address).wallet.sendTransaction(call),
  hasSentNothing: (error: unknown) =>
    error instanceof Stopped || refusalSentence(error) !== null || hasSentNothing(error),
  explain: explainFailure,
  nameSilent,
  pause,
});

/** The world of one draft. `onKey` hears the key that a first save gives it. */
export function worldOf(
  address: Account["address"],
  draftKey: string,
  onKey: (key: string) => Promise<void>,
): PublicationWorld {
  let key = draftKey;
  let locks: (() => void)[] = [];
  const lockName = () => `imprint-publication ${address.toLowerCase()} ${key}`;
  const save = async (isNew: boolean): Promise<{ cid: string } | { postId: string }> => {
    let moved = Promise.resolve();
    const renamed = (next: string) => {
      key = next;
      // Under its new key as well, no other tab may run it.
      const locked = takeLock(lockName()).then((release) => release && locks.push(release));
      moved = Promise.all([locked, onKey(next)]).then(() => undefined);
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
    ...walletWorld(address),
    marketplace,
    save,
    upload: (progress) => upload(present(address), key, progress),
    call: ({ cid, thumbnailCid, details }) => {
      if (!cid || !thumbnailCid) throw new TypeError("Nothing is uploaded yet.");
      const { price, hashtags, ...texts } = details;
      const post = { ...texts, price: BigInt(price), hashtags: [...hashtags] };
      return createPostCall(marketplace, { cid, thumbnailCid, ...post }, chainId);
    },
    findEntry: (cid) => findEntry(present(address).provider, marketplace, cid),
    isListed,
    keep: (progress) => keepProgress(address, key, progress),
    recall: () => recallProgress(address, key),
    async lock() {
      const release = await takeLock(lockName());
      if (!release) return null;
      locks.push(release);
      return () => {
        for (const each of locks) each();
        locks = [];
      };
    },
    isLocked: () => isLocked(lockName()),
    isFree: () => lockIsFree(lockName()),
  };
}

const priceKey = (address: string, postId: string): string =>
  `imprint.price.${address.toLowerCase()}.${postId}`;

/** The change of a post's price that is under way; null if none is. */
export function recallPriceChange(address: string, postId: string): PriceChange | null {
  const kept = recall<PriceChange>(priceKey(address, postId));
  return kept && { ...kept, asked: kept.asked ?? null };
}

/** Give up a change of which nothing was sent. */
export const forgetPriceChange = (address: string, postId: string): void =>
  remember(priceKey(address, postId), null);

/** The world of the price of one post. */
export function priceWorldOf(address: Account["address"], postId: string): RepricingWorld {
  const name = `imprint-price ${address.toLowerCase()} ${postId}`;
  return {
    ...walletWorld(address),
    call: ({ price }) => changePriceCall(marketplace, postId, BigInt(price), chainId),
    readPrice: () => readPrice(present(address).provider, marketplace, postId),
    readListedPrice: async () => (await imprint.showPost(postId)).price,
    keep: (change) => remember(priceKey(address, postId), change.step === "done" ? null : change),
    recall: () => recallPriceChange(address, postId),
    lock: () => takeLock(name),
    isFree: () => lockIsFree(name),
  };
}

async function upload(by: Account, key: string, progress: Progress): Promise<string | null> {
  const { thumbnail } = await recallPictures(by.address, key);
  if (!thumbnail || !progress.cid) {
    const sentence = "The picture is not in this browser any more. Go back and choose it again.";
    throw new Stopped({ sentence, actions: ["edit"] });
  }
  try {
    const { thumbnailCid } = await imprint.publishDraft(by.wallet, progress.cid, {
      thumbnail,
      hashtags: [...progress.details.hashtags],
    });
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

/** Who does not respond, if asking again may help. */
function nameSilent(error: unknown): string | null {
  if (error instanceof Unreachable) return navigator.onLine ? "The service" : "The network";
  if (error instanceof Refusal) {
    return error.status === 429 || error.status >= 500 ? "The service" : null;
  }
  if (error instanceof Stopped || refusalSentence(error) !== null) return null;
  const { code, name, message } = (error ?? {}) as Record<string, unknown>;
  const isBusy = code === -32005 || code === 4900 || code === 4901;
  const isAway = /failed to fetch|network error|timed? ?out|ECONN/i.test(String(message));
  return isBusy || isAway || name === "NodeUnreachable" ? "The chain’s node" : null;
}

function explainFailure(error: unknown): Failure {
  const refusal = refusalSentence(error);
  if (refusal !== null) return { sentence: refusal, actions: ["retry", "edit"] };
  const { sentence, action } = explain(error);
  if (error instanceof Refusal && error.code === "invalid_image") {
    return { sentence: `${sentence} Choose another picture.`, actions: ["edit"] };
  }
  if (action === "switch-chain") return { sentence, actions: ["switch-chain"] };
  return { sentence, actions: action === "sign-in" ? ["sign-in", "retry"] : ["retry"] };
}

function unsaved(state: { kind: string; sentence?: string }): Failure {
  if (state.kind === "conflict") {
    const sentence =
      "Another tab or machine has changed this text. Open it, choose what to keep, then publish.";
    return { sentence, actions: ["open-text"] };
  }
  if (state.kind === "gone") {
    return { sentence: "The service has no such draft any more.", actions: ["open-text"] };
  }
  return { sentence: state.sentence ?? "The text is not saved yet.", actions: ["retry"] };
}
