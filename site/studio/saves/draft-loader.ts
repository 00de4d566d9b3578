/** Opening a draft: from this browser if it has unsaved changes, otherwise from the service. */

import { type Content, Refusal } from "imprint-press";
import { imprint } from "../../page/service.ts";
import {
  author,
  findHead,
  followCopies,
  isSignedIn,
  knownFile,
  reloadDrafts,
} from "../store/drafts.ts";
import {
  chooseCopy,
  isLocalKey,
  type LocalCopy,
  localCopies,
  newLocalKey,
  prune,
} from "../store/local-copies.ts";
import { keepSummary, summaryOf } from "../store/summaries.ts";
import { livingTabs, tellTabs, thisTab } from "../store/tabs.ts";
import { draftVersions } from "../store/versions.ts";
import { WORDS } from "../words.ts";
import { draftServiceOf } from "./draft-service.ts";
import { type DraftEvents, OpenDraft, type OpenedDraft, type Timers } from "./open-draft.ts";

const timers: Timers = {
  set: (run, seconds) => setTimeout(run, seconds * 1000),
  clear: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
  now: () => Date.now(),
};

/** The draft cannot be opened before the author signs in. */
export class SessionNeeded extends Error {}

/** Neither the service nor this browser has the draft. */
export class NoSuchDraft extends Error {}

/** Keys of local drafts that the author has asked to save before they are open. */
const asked = new Set<string>();

/** Save this draft as soon as it is open. */
export const saveOnceOpen = (key: string): unknown => asked.add(key);

/** Open a draft of the account. Throws `SessionNeeded` or `NoSuchDraft`. */
export async function openDraft(
  key: string,
  events: Pick<DraftEvents, "onText" | "onKey">,
): Promise<OpenDraft> {
  const account = author.value;
  if (!account) throw new SessionNeeded(WORDS.connectWalletFirst);
  const opened = (await findCopy(account, key)) ?? (await readVersion(account, key));
  let known = key;
  const record = (isForced: boolean) =>
    // Versions are a convenience: without room for them, writing goes on.
    void draftVersions
      .record(account, draft.key, draft.text.value, isForced)
      .catch(() => undefined);
  const draft = new OpenDraft(opened, localCopies, draftServiceOf(account), timers, {
    ...events,
    onKey(next) {
      void draftVersions.rename(account, known, next).catch(() => undefined);
      known = next;
      events.onKey(next);
    },
    onCopies: () => {
      record(false);
      followCopies();
      tellTabs({ kind: "copies", account, key: draft.key, tab: draft.tab });
    },
    onSaved(version, content) {
      keepSummary(summaryOf(version.cid, content));
      tellTabs({ kind: "saved", account, key: draft.key, tab: draft.tab, cid: version.cid });
      void reloadDrafts();
      void prune(localCopies, account).catch(() => undefined);
    },
  });
  record(true);
  tellTabs({ kind: "opened", account, key, tab: draft.tab });
  if (asked.delete(key)) void draft.save({ isAsked: true });
  return draft;
}

/** The copy that this tab continues with. Copies left by other tabs become separate drafts. */
async function findCopy(account: string, key: string): Promise<OpenedDraft | null> {
  const [tab, living] = await Promise.all([thisTab(), livingTabs()]);
  const all = await localCopies.list(account).catch(() => []);
  const own = all.filter((copy) => copy.key === key);
  const { mine, left } = chooseCopy(own, tab, (name) => living.has(name));
  for (const copy of left) {
    const note = WORDS.unsavedTextFromAnother;
    await move(copy, { ...copy, key: newLocalKey(), base: null, note });
  }
  if (!mine) {
    if (!isLocalKey(key)) return null;
    return { account, key, tab, base: null, content: "", isSaved: true };
  }
  const adopted = { ...mine, tab };
  if (mine.tab !== tab) await move(mine, adopted);
  return adopted;
}

/** Replace a copy by another one. Without room for both it stays as it is, and can be opened. */
async function move(copy: LocalCopy, next: LocalCopy): Promise<void> {
  try {
    await localCopies.put(next);
    await localCopies.remove(copy);
  } catch {
    // The next visit tries again.
  }
}

async function readVersion(account: string, key: string): Promise<OpenedDraft> {
  if (!isSignedIn.value) throw new SessionNeeded(WORDS.signFirst);
  const { content, file } = (await readKnown(key)) ?? (await readHead(key));
  keepSummary(summaryOf(file.cid, content));
  return { account, key, tab: await thisTab(), base: file.cid, content, isSaved: true };
}

/** The version in the list, if the service still has it. */
async function readKnown(key: string): Promise<Content | null> {
  const file = knownFile(key);
  if (!file) return null;
  try {
    return await imprint.readDraft(file.cid);
  } catch (error) {
    if (error instanceof Refusal && error.code === "not_found") return null;
    throw error;
  }
}

async function readHead(key: string): Promise<Content> {
  const head = await findHead(key);
  if (!head) throw new NoSuchDraft(WORDS.thereNoSuchDraft);
  return imprint.readDraft(head.cid);
}
