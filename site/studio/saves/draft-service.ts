/** Saves an open draft with the page's client, signed by the wallet or a writing session. */

import { type Draft, type HostedFile, Refusal } from "imprint-press";
import { imprint } from "../../page/service.ts";
import { account, explain } from "../../wallet/index.ts";
import { author, findHead, isSignedIn } from "../store/drafts.ts";
import { WORDS } from "../words.ts";
import type { DraftService, Head, Version } from "./open-draft.ts";
import { forgetWriting, writing } from "./writing-session.ts";

/** The wallet has switched away from the account that owns this text. */
class OtherAccount extends Error {
  override readonly name = "OtherAccount";
}

/** There is no session to read drafts with. */
class NotSignedIn extends Error {
  override readonly name = "NotSignedIn";
}

/** How many of the newest drafts are checked for the one that was just created. */
const RECENT = 12;
/** The clock difference that is tolerated, in milliseconds. */
const CLOCKS = 120_000;

/** The draft service of one account. */
export function draftServiceOf(owner: string): DraftService {
  const signer = () => (author.value === owner ? writing.value : null);
  return {
    contentLimit: imprint.facts.limits.content_bytes,
    canSignSilently: () => signer() !== null,
    async save(content, base, options) {
      if (author.value !== owner) throw new OtherAccount(WORDS.walletShowsAnotherAccount);
      const by = signer() ?? account.value?.wallet;
      if (!by) throw new OtherAccount(WORDS.noWalletConnected);
      return versionOf(await imprint.saveDraft(by, content, base ?? undefined, options));
    },
    async resend({ signed, content, base }, wait) {
      return versionOf(await imprint.resendDraft(signed, content, base ?? undefined, { wait }));
    },
    async head(groupId, base): Promise<Head> {
      // One small request, as long as nothing has happened to the draft.
      const same = await findVersion(base);
      if (same?.keyvalues.status === "onchain") return { kind: "gone", postId: same.post_id };
      if (same) return { kind: "draft", version: versionOf(same) };
      needSession(owner);
      const found = await findHead(groupId, base);
      if (found) return { kind: "draft", version: versionOf(found) };
      return { kind: "gone", postId: null };
    },
    async read(cid) {
      needSession(owner);
      return (await imprint.readDraft(cid)).content;
    },
    async findCreated(content, since) {
      needSession(owner);
      const { items } = await imprint.listDrafts({ owner }).page();
      // `since` is a time of this device, whose clock may be wrong.
      const ahead = imprint.now() * 1000 - Date.now();
      const recent = items.filter((file) => Date.parse(file.created_at) > since + ahead - CLOCKS);
      for (const file of recent.slice(0, RECENT)) {
        if ((await imprint.readDraft(file.cid)).content === content) return versionOf(file);
      }
      return null;
    },
    sessionEnded() {
      // The refused session is not another account's.
      if (signer()) forgetWriting();
    },
    explain: (error) =>
      error instanceof OtherAccount ? WORDS.textBelongsAnotherAccount : explain(error).sentence,
    isRefusedForSession: (error) =>
      error instanceof NotSignedIn || (error instanceof Refusal && /^session_/.test(error.code)),
  };
}

function needSession(owner: string): void {
  if (author.value !== owner) throw new OtherAccount(WORDS.walletShowsAnotherAccount);
  if (!isSignedIn.value) throw new NotSignedIn(WORDS.signFirst);
}

/** The record of a version, draft or post; null if it was replaced or deleted. */
async function findVersion(cid: string): Promise<HostedFile | null> {
  try {
    const { items } = await imprint.listPosts({ cid }).page();
    return items[0] ?? null;
  } catch (error) {
    if (error instanceof Refusal && error.code === "not_found") return null;
    throw error;
  }
}

const versionOf = (file: Draft | HostedFile): Version => ({
  cid: file.cid,
  groupId: file.group_id,
  savedAt: file.created_at,
});
