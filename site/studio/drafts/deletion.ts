/** Deletes a draft on the service, with one signature, and in this browser, and undoes it. */

import { Refusal } from "imprint-press";
import { imprint } from "../../page/service.ts";
import { account } from "../../wallet/index.ts";
import type { DraftEntry } from "../store/draft-entries.ts";
import { author, dropFile, findHead, readContent, refreshCopies } from "../store/drafts.ts";
import { localCopies, newLocalKey } from "../store/local-copies.ts";
import { livingTabs, tellTabs, thisTab } from "../store/tabs.ts";
import { draftVersions } from "../store/versions.ts";
import { WORDS } from "../words.ts";
import { type DeletedDraft, RecentDeletions } from "./undo.ts";

/** The drafts that were deleted moments ago. */
export const deletions = new RecentDeletions({
  set: (run, seconds) => setTimeout(run, seconds * 1000),
});

/**
 * Delete the draft from the service, then the copies of tabs that do not have it open. Its text
 * stays in this page for some seconds.
 */
export async function deleteDraft(draft: DraftEntry, name: string): Promise<void> {
  const owner = author.value;
  if (!owner) return;
  // A text that cannot be read cannot come back, but can be deleted.
  const content = await readContent(draft).catch(() => "");
  if (draft.cid !== null && !draft.isLocal) await deleteVersion(draft.key, draft.cid);
  const [tab, living] = await Promise.all([thisTab(), livingTabs()]);
  for (const copy of await localCopies.list(owner)) {
    const isFree = copy.tab === tab || !living.has(copy.tab);
    if (copy.key === draft.key && isFree) await localCopies.remove(copy);
  }
  dropFile(draft.key);
  await draftVersions.forget(owner, draft.key).catch(() => undefined);
  tellTabs({ kind: "removed", account: owner, key: draft.key, tab });
  await refreshCopies();
  if (content) deletions.add({ key: draft.key, name, account: owner, content });
}

/** Restore a deleted draft in this browser only. Returns its key, or null if it is too late. */
export async function undoDeletion(draft: DeletedDraft): Promise<string | null> {
  if (!deletions.take(draft)) return null;
  const { account: owner, content } = draft;
  const [key, tab] = [newLocalKey(), await thisTab()];
  await localCopies.put({
    ...{ account: owner, key, tab, content },
    base: null,
    isSaved: false,
    changedAt: Date.now(),
  });
  await refreshCopies();
  return key;
}

async function deleteVersion(groupId: string, cid: string): Promise<void> {
  const signer = account.value;
  if (!signer) throw new Error(WORDS.connectWalletFirst);
  try {
    await imprint.deleteDraft(signer.wallet, cid);
  } catch (error) {
    // It was deleted elsewhere, as requested; a newer version is left alone.
    const isMissing = error instanceof Refusal && error.code === "not_found";
    if (!isMissing || (await findHead(groupId)) !== null) throw error;
  }
}
