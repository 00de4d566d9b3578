/** Deleting a draft: on the service with one signature, and in this browser. */

import { Refusal } from "imprint-press";
import { imprint } from "../../page/service.ts";
import { account } from "../../wallet/index.ts";
import type { DraftEntry } from "../store/draft-entries.ts";
import { author, dropFile, findHead, refreshCopies } from "../store/drafts.ts";
import { localCopies } from "../store/local-copies.ts";
import { livingTabs, tellTabs, thisTab } from "../store/tabs.ts";
import { WORDS } from "../words.ts";

/** Delete the draft from the service, then the copies of tabs that do not have it open. */
export async function deleteDraft(draft: DraftEntry): Promise<void> {
  const owner = author.value;
  if (!owner) return;
  if (draft.cid !== null && !draft.isLocal) await deleteVersion(draft.key, draft.cid);
  const [tab, living] = await Promise.all([thisTab(), livingTabs()]);
  for (const copy of await localCopies.list(owner)) {
    const isFree = copy.tab === tab || !living.has(copy.tab);
    if (copy.key === draft.key && isFree) await localCopies.remove(copy);
  }
  dropFile(draft.key);
  tellTabs({ kind: "removed", account: owner, key: draft.key, tab });
  await refreshCopies();
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
