/** Connects an import to this browser, the service and the wallet. */

import { POST_LIMITS } from "imprint-press";
import { BrowserDatabase } from "../../page/database.ts";
import { isEncrypted } from "../../page/encryption.ts";
import { takeLock } from "../../page/locks.ts";
import { imprint } from "../../page/service.ts";
import { explain } from "../../wallet/index.ts";
import { encodePicture } from "../editor/text/pictures.ts";
import { keepForm, recallForm } from "../publication/kept-publication.ts";
import { fitBytes } from "../publication/limits.ts";
import { addTags } from "../publication/tags.ts";
import { openDraft } from "../saves/draft-loader.ts";
import type { OpenDraft } from "../saves/open-draft.ts";
import { hasWritingSessions, startWriting, writing } from "../saves/writing-session.ts";
import { author } from "../store/drafts.ts";
import { localCopies } from "../store/local-copies.ts";
import { thisTab } from "../store/tabs.ts";
import { WORDS as STUDIO_WORDS } from "../words.ts";
import { readArchive } from "./formats/archive.ts";
import type { FoundPost } from "./formats/found-post.ts";
import type { ImportRecord } from "./import-state.ts";
import type { ImportPorts, SaveOutcome } from "./importer.ts";
import { WORDS } from "./words.ts";

const RECORDS = "records";

const database = new BrowserDatabase("imprint-import", (made) => {
  made.createObjectStore(RECORDS, { keyPath: ["account", "source"] });
});

export function importPorts(account: string): ImportPorts {
  return {
    account,
    contentLimit: imprint.facts.limits.content_bytes,
    read: readArchive,
    encode: encodePicture,
    async records() {
      const own = IDBKeyRange.bound([account], [account, []]);
      const found = await database.run(RECORDS, "readonly", (store) => store.getAll(own));
      return found as ImportRecord[];
    },
    async putRecord(record) {
      await database.run(RECORDS, "readwrite", (store) => store.put(record));
    },
    async removeRecord(source) {
      await database.run(RECORDS, "readwrite", (store) => store.delete([account, source]));
    },
    async keepText(key, post, content) {
      keepDetails(account, key, post);
      const tab = await thisTab();
      const note = WORDS.importedFrom(post.format);
      const copy = { account, key, tab, base: null, content, isSaved: false, note };
      // A text that the author has changed since an interrupted import stays.
      await localCopies.put({ ...copy, changedAt: Date.now() }, content);
    },
    async keptKeys() {
      return new Set((await localCopies.list(account)).map(({ key }) => key));
    },
    save: (key, onWait) => saveKept(account, key, onWait),
    async allowSaves() {
      if (hasWritingSessions && isEncrypted() && !writing.value) await startWriting();
    },
    async alone(run) {
      const release = await takeLock(`imprint-import-${account}`);
      if (!release) return false;
      try {
        await run();
      } finally {
        release();
      }
      return true;
    },
    pause: () => new Promise((resolve) => setTimeout(resolve)),
    explain: (error) => {
      const { isCancelled, sentence } = explain(error);
      return isCancelled ? WORDS.signatureDeclined : sentence;
    },
  };
}

/** Store tags and description for the publishing form of the draft. */
function keepDetails(account: string, key: string, post: FoundPost): void {
  const { limits } = imprint.facts;
  const allowed = { count: Math.min(limits.hashtags, 10), length: limits.hashtag_length };
  const tags = post.tags.reduce<readonly string[]>(
    (added, tag) => addTags(added, tag.trim().replace(/\s+/gu, "-"), allowed).tags,
    [],
  );
  if (tags.length === 0 && post.description === "") return;
  keepForm(account, key, {
    title: fitBytes(post.title, POST_LIMITS.titleBytes),
    description: fitBytes(post.description, POST_LIMITS.descriptionBytes),
    price: "",
    tags,
    picture: "made",
    crop: null,
  });
}

/** Save a draft with the retries of the editor, and close it afterwards. */
async function saveKept(
  account: string,
  key: string,
  onWait: (sentence: string | null) => void,
): Promise<SaveOutcome> {
  if (author.value !== account)
    return { kind: "refused", sentence: STUDIO_WORDS.walletShowsAnotherAccount, isForAll: true };
  const draft = await openDraft(key, {
    onText: () => undefined,
    onKey: (made) => {
      keepForm(account, made, recallForm(account, key));
      keepForm(account, key, null);
    },
  });
  try {
    await draft.save({ isAsked: true });
    return await settled(draft, onWait);
  } finally {
    await draft.close();
  }
}

/** Resolves when a save has ended, whatever it waits for in between. */
function settled(
  draft: OpenDraft,
  onWait: (sentence: string | null) => void,
): Promise<SaveOutcome> {
  return new Promise((resolve) => {
    let isWaiting = false;
    const stop = draft.saving.subscribe((state) => {
      if (state.kind === "waiting") {
        isWaiting = true;
        onWait(state.sentence);
        return;
      }
      if (isWaiting) onWait(null);
      isWaiting = false;
      if (state.kind === "signing" || state.kind === "sending") return;
      // It is saved again by itself.
      if (state.kind === "changed" && writing.peek()) return;
      queueMicrotask(() => stop());
      if (state.kind === "saved") resolve({ kind: "saved", key: draft.key });
      else if (state.kind === "refused")
        resolve({ kind: "refused", sentence: state.sentence, isForAll: state.action !== "edit" });
      else if (state.kind === "changed") {
        resolve({ kind: "refused", sentence: WORDS.saveNotTaken, isForAll: true });
      } else {
        resolve({ kind: "refused", sentence: WORDS.draftChangedElsewhere, isForAll: false });
      }
    });
  });
}
