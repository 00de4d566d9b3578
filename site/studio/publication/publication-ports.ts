/** What publications of this page use: the open draft, the service, the wallet and its chain. */

import { createPostCall, Refusal } from "imprint-press";
import { findEntry } from "../../chain/marketplace.ts";
import { isLocked, lockIsFree, takeLock } from "../../page/locks.ts";
import { imprint } from "../../page/service.ts";
import type { Account } from "../../wallet/index.ts";
import { openDraft } from "../saves/draft-loader.ts";
import { type Failure, Stopped } from "../transactions/failure.ts";
import { presentAccount, walletPorts } from "../transactions/wallet-ports.ts";
import { WORDS } from "../words.ts";
import { keepProgress, recallPictures, recallProgress } from "./kept-publication.ts";
import type { Progress } from "./progress.ts";
import type { PublicationPorts } from "./publication.ts";

const { id: chainId, marketplace } = imprint.facts.chain;

/** The ports of one draft. `onKey` gets the key that a first save gives it. */
export function publicationPorts(
  address: Account["address"],
  draftKey: string,
  onKey: (key: string) => Promise<void>,
): PublicationPorts {
  let key = draftKey;
  let locks: (() => void)[] = [];
  const lockName = () => `imprint-publication ${address.toLowerCase()} ${key}`;
  const save = async (isNew: boolean): Promise<{ cid: string } | { postId: string }> => {
    let moved = Promise.resolve();
    const renamed = (next: string) => {
      key = next;
      // No other tab may run it under its new key either.
      const locked = takeLock(lockName()).then((release) => release && locks.push(release));
      const told = onKey(next);
      // Neither is left behind if the other fails: a later lock would never be released.
      moved = Promise.allSettled([locked, told])
        .then(() => Promise.all([locked, told]))
        .then(() => undefined);
    };
    const draft = await openDraft(key, { onText: () => undefined, onKey: renamed });
    try {
      await draft.save({ isAsked: true });
      await moved;
      const state = draft.saving.value;
      if (state.kind === "gone" && state.postId) return { postId: state.postId };
      if (state.kind !== "saved" || draft.base === null) throw new Stopped(unsaved(state));
      if (!isNew) return { cid: draft.base };
      const { wallet } = presentAccount(address);
      return { cid: (await imprint.updateDraft(wallet, draft.base, draft.text.value)).cid };
    } finally {
      await draft.close();
    }
  };
  return {
    ...walletPorts(address),
    marketplace,
    save,
    upload: (progress) => upload(presentAccount(address), key, progress),
    call: ({ cid, thumbnailCid, details }) => {
      if (!cid || !thumbnailCid) throw new TypeError("Nothing is uploaded yet.");
      const { price, hashtags, ...texts } = details;
      const post = { ...texts, price: BigInt(price), hashtags: [...hashtags] };
      return createPostCall(marketplace, { cid, thumbnailCid, ...post }, chainId);
    },
    findEntry: (cid) => findEntry(presentAccount(address).provider, cid),
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

async function upload(by: Account, key: string, progress: Progress): Promise<string | null> {
  const { thumbnail } = await recallPictures(by.address, key);
  if (!thumbnail || !progress.cid) {
    const sentence = WORDS.pictureNoLongerBrowser;
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

function unsaved(state: { kind: string; sentence?: string }): Failure {
  if (state.kind === "conflict") {
    const sentence = WORDS.textChangedAnotherTab;
    return { sentence, actions: ["open-text"] };
  }
  if (state.kind === "gone") {
    return { sentence: WORDS.draftNoLongerExists, actions: ["open-text"] };
  }
  return { sentence: state.sentence ?? WORDS.textIsntSavedYet, actions: ["retry"] };
}
