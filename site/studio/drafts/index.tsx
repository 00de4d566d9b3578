/** The list of drafts, including those that exist only in this browser, and published posts. */

import { useEffect, useRef, useState } from "preact/hooks";
import { moment } from "../../page/format.ts";
import { announce, notify } from "../../page/notices.ts";
import { imprint } from "../../page/service.ts";
import { account, explain } from "../../wallet/index.ts";
import { lazy } from "../lazy.tsx";
import { formatRoute, go } from "../routes.ts";
import { SignInAgain } from "../sign-in.tsx";
import type { DraftEntry, DraftState } from "../store/draft-entries.ts";
import {
  drafts,
  isSignedIn,
  listing,
  loadMoreDrafts,
  refreshCopies,
  reloadDrafts,
} from "../store/drafts.ts";
import { newLocalKey } from "../store/local-copies.ts";
import { requestSummary } from "../store/summaries.ts";
import { WORDS } from "../words.ts";
import { deleteDraft, deletions, undoDeletion } from "./deletion.ts";
import type { DeletedDraft } from "./undo.ts";

/** Whether there are posts to list; a service without an index has none. */
const HAS_POSTS = imprint.facts.features.includes("posts");

const Published = lazy(
  async () => (await import("../published/index.tsx")).Published,
  WORDS.yourPosts,
);

const STATES: Record<DraftState, string> = {
  local: WORDS.onlyBrowser,
  saved: WORDS.saved,
  changed: WORDS.unsavedChanges,
  publishing: WORDS.publishing,
  published: WORDS.published,
};

export function DraftsView() {
  const [query, setQuery] = useState("");
  const all = drafts.value;
  const words = query.trim().toLowerCase();
  const found = words ? all.filter(({ title }) => title?.toLowerCase().includes(words)) : all;
  const { state } = listing.value;
  const by = account.value;
  useEffect(() => void refreshCopies(), []);
  const heading = useRef<HTMLHeadingElement>(null);
  const deleted = deletions.drafts.value;
  const undoable = useRef(0);
  useEffect(() => {
    // The button that undoes had the focus, and is gone.
    const isGone = deleted.length < undoable.current;
    if (isGone && document.activeElement === document.body) heading.current?.focus();
    undoable.current = deleted.length;
  }, [deleted]);
  useEffect(() => {
    // The match may be in a title that has not been read yet.
    if (words) for (const { title, cid } of all) if (title === null && cid) requestSummary(cid);
  }, [words, all]);
  const isEmpty = all.length === 0 && (state === "complete" || !isSignedIn.value);
  return (
    <section class="drafts" aria-labelledby="drafts-heading">
      <header class="drafts-head">
        <h1 id="drafts-heading" tabIndex={-1} ref={heading}>
          {WORDS.drafts}
        </h1>
        <button
          type="button"
          class="primary"
          onClick={() => go({ view: "draft", key: newLocalKey() })}
        >
          {WORDS.newDraft}
        </button>
      </header>
      {deleted.map((draft) => (
        <Deleted key={draft.key} draft={draft} />
      ))}
      {!isSignedIn.value && <SignInAgain reason={WORDS.seeSavedDrafts} />}
      {all.length > 4 && (
        <input
          type="search"
          class="drafts-search"
          aria-label={WORDS.findDraftTitle}
          placeholder={WORDS.findTitle}
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
      )}
      {isEmpty && isSignedIn.value && <p class="studio-empty">{WORDS.noDraftsYetStart}</p>}
      <ul class="draft-list">
        {found.map((draft) => (
          <DraftLine key={draft.key} draft={draft} />
        ))}
      </ul>
      {words && found.length === 0 && (
        <p class="studio-empty">
          {state === "complete"
            ? WORDS.noDraftFound(query.trim())
            : WORDS.noLoadedDraftFound(query.trim())}
        </p>
      )}
      <More />
      {by && isSignedIn.value && HAS_POSTS && (
        <Published key={by.address} by={by} heading={WORDS.published} />
      )}
    </section>
  );
}

/** A deletion that can be undone for some seconds. It takes the focus from the delete button. */
function Deleted({ draft }: { draft: DeletedDraft }) {
  const undo = useRef<HTMLButtonElement>(null);
  useEffect(() => undo.current?.focus(), []);
  const restore = async () => {
    try {
      const key = await undoDeletion(draft);
      if (key) announce(WORDS.isBack(draft.name));
    } catch (error) {
      notify({ kind: "bad", text: explain(error).sentence });
    }
  };
  return (
    <div class="studio-note" role="status">
      <p>{WORDS.wasDeleted(draft.name)}</p>
      <button type="button" ref={undo} onClick={() => void restore()}>
        {WORDS.undo}
      </button>
    </div>
  );
}

/** The next page of the service's list, or why it is missing. */
function More() {
  const shown = listing.value;
  if (!isSignedIn.value) return null;
  if (shown.state === "loading")
    return (
      <p class="studio-wait" role="status">
        {WORDS.loadingDrafts}
      </p>
    );
  if (shown.state === "partial")
    return (
      <button type="button" class="more" onClick={() => void loadMoreDrafts()}>
        {WORDS.showMoreDrafts}
      </button>
    );
  if (shown.state !== "failed") return null;
  return (
    <div class="studio-note bad" role="alert">
      <p>{WORDS.showingWhatsStoredBrowser(explain(shown.error).sentence)}</p>
      <button type="button" onClick={() => void reloadDrafts()}>
        {WORDS.tryAgain}
      </button>
    </div>
  );
}

function DraftLine({ draft }: { draft: DraftEntry }) {
  const [step, setStep] = useState<"shown" | "asked" | "deleting">("shown");
  const line = useRef<HTMLLIElement>(null);
  const deletion = useRef<HTMLButtonElement>(null);
  const wasAsked = useRef(false);
  useEffect(() => {
    // The confirmation replaced the button, and had the focus.
    if (step === "shown" && wasAsked.current) deletion.current?.focus();
  }, [step]);
  const title = draft.title ?? "";
  // Running saves continue there.
  const view = draft.state === "publishing" ? "publish" : "draft";
  const name = title || (draft.title === null ? WORDS.loading : WORDS.untitled);
  const unread = draft.title === null ? draft.cid : null;
  const { state } = listing.value;
  useEffect(() => {
    if (!line.current || unread === null) return;
    const watch = new IntersectionObserver((seen) => {
      if (seen.some(({ isIntersecting }) => isIntersecting)) requestSummary(unread);
    });
    watch.observe(line.current);
    return () => watch.disconnect();
  }, [unread, state]);
  const remove = async () => {
    setStep("deleting");
    try {
      await deleteDraft(draft, name);
      announce(WORDS.wasDeleted(name));
    } catch (error) {
      setStep("shown");
      const { isCancelled, sentence } = explain(error);
      if (!isCancelled) notify({ kind: "bad", text: WORDS.wasntDeleted(name, sentence) });
    }
  };
  return (
    <li class="draft-line" ref={line}>
      <a class="draft-title" href={formatRoute({ view, key: draft.key })}>
        {name}
      </a>
      <p class="draft-facts">
        <span class="draft-state" data-state={draft.state}>
          {STATES[draft.state]}
        </span>
        {draft.words !== null && <span>{WORDS.wordCount(draft.words)}</span>}
        <time dateTime={new Date(draft.changedAt).toISOString()}>{moment(draft.changedAt)}</time>
        {draft.note && <span class="draft-note">{draft.note}</span>}
      </p>
      {step === "shown" ? (
        <button
          type="button"
          class="quiet draft-delete"
          aria-label={WORDS.deleteNamed(name)}
          ref={deletion}
          onClick={() => {
            wasAsked.current = true;
            setStep("asked");
          }}
        >
          {WORDS.delete}
        </button>
      ) : (
        <Confirmation
          draft={draft}
          isBusy={step === "deleting"}
          onYes={() => void remove()}
          onNo={() => setStep("shown")}
        />
      )}
    </li>
  );
}

interface ConfirmationProps {
  readonly draft: DraftEntry;
  readonly isBusy: boolean;
  onYes(): void;
  onNo(): void;
}

function Confirmation({ draft, isBusy, onYes, onNo }: ConfirmationProps) {
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => keep.current?.focus(), []);
  return (
    <div class="draft-confirm" role="alertdialog" aria-label={WORDS.deleteDraft}>
      <p>
        {WORDS.deleteGood} {draft.isLocal ? WORDS.existsOnlyBrowser : WORDS.walletSignsOnce}
      </p>
      <button type="button" class="bad" disabled={isBusy} onClick={onYes}>
        {isBusy ? WORDS.deleting : WORDS.delete}
      </button>
      <button type="button" ref={keep} disabled={isBusy} onClick={onNo}>
        {WORDS.keepIt}
      </button>
    </div>
  );
}
