/** An open draft: bar, notes, text and preview. */

import { useEffect, useRef, useState } from "preact/hooks";
import { fileSize, short } from "../../page/format.ts";
import { announce, notify } from "../../page/notices.ts";
import { go } from "../routes.ts";
import { saveOnceOpen } from "../saves/draft-loader.ts";
import type { DraftEvents, OpenDraft } from "../saves/open-draft.ts";
import { SignInButton } from "../sign-in.tsx";
import { countBytes, countWords, readingMinutes, titleOf } from "../store/draft-text.ts";
import { author, isSignedIn } from "../store/drafts.ts";
import { hearTabs, tellTabs } from "../store/tabs.ts";
import { type DraftVersion, draftVersions } from "../store/versions.ts";
import { WORDS } from "../words.ts";
import { Conflict } from "./conflict.tsx";
import { Preview } from "./preview.tsx";
import { PublishLink } from "./publish-link.tsx";
import { KeepTrouble, SaveButton, SaveStanding, SaveTrouble } from "./save-line.tsx";
import { SaveOffer, useSaves } from "./save-offer.tsx";
import { UnusablePicture } from "./text/pictures.ts";
import { TextEditor } from "./text/text-editor.ts";
import { Toolbar } from "./text/toolbar.tsx";
import { VersionsPanel, VersionView } from "./versions.tsx";
import { WritingPanel } from "./writing-panel.tsx";

interface WritingRoomProps {
  readonly draft: OpenDraft;
  readonly contentLimit: number;
  onReplace(take: DraftEvents["onText"]): void;
}

type Shown = "text" | "preview" | "both";

/** The width above which text and preview are side by side. */
const WIDE = "(min-width: 64rem)";
const HINT = "editor-hint";

export function WritingRoom({ draft, contentLimit, onReplace }: WritingRoomProps) {
  const place = useRef<HTMLDivElement>(null);
  const [editor, setEditor] = useState<TextEditor | null>(null);
  const [compared, setCompared] = useState<DraftVersion | null>(null);
  const saves = useSaves(draft);
  const [shown, setShown] = useState<Shown>(() => (matchMedia(WIDE).matches ? "both" : "text"));
  useEffect(() => {
    if (!place.current) return;
    const made = new TextEditor({
      parent: place.current,
      content: draft.text.value,
      contentLimit,
      hint: HINT,
      onChange: (content) => draft.change(content),
      onSave: saves.save,
      onPicture: () => announce(WORDS.pictureAdded),
      onPictureFailure: (error) => {
        const unusable = error instanceof UnusablePicture;
        const text = unusable ? error.message : WORDS.pictureCouldntAdded;
        notify({ kind: "bad", text });
      },
    });
    onReplace((content, isAsked) => {
      made.replace(content);
      const text = WORDS.draftSavedElsewhereYoure;
      if (!isAsked) notify({ kind: "info", text });
    });
    setEditor(made);
    if (draft.text.value === "") made.focus();
    return () => made.destroy();
  }, [draft]);
  const wasCompared = useRef(false);
  useEffect(() => {
    if (wasCompared.current && !compared) editor?.view.focus();
    wasCompared.current = compared !== null;
  }, [compared]);
  usePageEvents(draft);
  const state = draft.saving.value;
  const takeTheirs = async () => {
    await draft.takeTheirs("");
    notify({
      kind: "good",
      text: WORDS.youreNowEditingOther,
    });
  };
  const keepBoth = async () => {
    const mine = await draft.takeTheirs("");
    if (!mine) return;
    saveOnceOpen(mine);
    go({ view: "draft", key: mine });
    notify({
      kind: "info",
      text: WORDS.bothKeptOtherVersion,
    });
  };
  const takeVersion = async ({ content }: DraftVersion) => {
    await draftVersions
      .record(draft.account, draft.key, draft.text.value, true)
      .catch(() => undefined);
    setCompared(null);
    editor?.replace(content);
    notify({ kind: "good", text: WORDS.versionIsBack });
  };
  const isCovered = state.kind === "conflict" || compared !== null;
  return (
    <article class="writing" data-shown={shown}>
      <h1 class="unseen">{titleOf(draft.text.value) || WORDS.newDraft}</h1>
      <header class="writing-head">
        <div class="writing-bar">
          <a class="back" href="#/">
            <span>{WORDS.drafts}</span>
          </a>
          <SaveStanding draft={draft} />
          <SaveButton draft={draft} onSave={saves.save} />
          <PublishLink draft={draft} onEmpty={() => editor?.view.focus()} />
        </div>
        <div class="writing-tools" hidden={isCovered}>
          <Toolbar editor={editor} isHidden={shown === "preview"} />
          <ViewSwitch shown={shown} onShow={setShown} />
        </div>
      </header>
      <OtherAccountNote draft={draft} />
      <OtherTabNote draft={draft} isHidden={state.kind === "conflict"} />
      <SessionNote draft={draft} />
      <KeepTrouble draft={draft} />
      <SaveTrouble draft={draft} />
      {state.kind === "gone" && <GoneNote draft={draft} postId={state.postId} />}
      {state.kind === "conflict" && (
        <Conflict
          mine={draft.text.value}
          theirs={state.theirs}
          onKeepMine={() => draft.keepMine()}
          onTakeTheirs={takeTheirs}
          onKeepBoth={keepBoth}
        />
      )}
      {compared && state.kind !== "conflict" && (
        <VersionView
          text={draft.text.value}
          version={compared}
          onTake={() => void takeVersion(compared)}
          onClose={() => setCompared(null)}
        />
      )}
      <div class="writing-panes" hidden={isCovered}>
        <section class="writing-text" aria-label={WORDS.text} hidden={shown === "preview"}>
          <div class="text-editor" ref={place} />
        </section>
        <Preview text={draft.text} isShown={shown !== "text"} />
      </div>
      <footer class="writing-foot" hidden={isCovered}>
        <Counts draft={draft} limit={contentLimit} />
        <p id={HINT} class="hint">
          {WORDS.tabIndentsLeaveEditor}
        </p>
        <VersionsPanel draft={draft} onChoose={setCompared} />
        <WritingPanel />
      </footer>
      {saves.isAsking && <SaveOffer draft={draft} onClose={saves.close} />}
    </article>
  );
}

function ViewSwitch({ shown, onShow }: { shown: Shown; onShow(shown: Shown): void }) {
  const views: readonly { readonly view: Shown; readonly name: string }[] = [
    { view: "text", name: WORDS.text },
    { view: "both", name: WORDS.both },
    { view: "preview", name: WORDS.preview },
  ];
  return (
    <fieldset class="view-switch">
      <legend class="unseen">{WORDS.view}</legend>
      {views.map(({ view, name }) => (
        <button
          type="button"
          class={`view-${view}`}
          aria-pressed={shown === view}
          onClick={() => onShow(view)}
        >
          {name}
        </button>
      ))}
    </fieldset>
  );
}

function Counts({ draft, limit }: { draft: OpenDraft; limit: number }) {
  const text = draft.text.value;
  const words = countWords(text);
  const bytes = countBytes(text);
  const isTight = bytes > limit * 0.75;
  return (
    <p class="counts">
      {WORDS.wordCount(words)}
      {words > 0 && <span class="reading-time">{WORDS.minRead(readingMinutes(words))}</span>}
      {isTight && (
        <span class={bytes > limit ? "over" : "tight"} role="status">
          {WORDS.sizeOf(fileSize(bytes), fileSize(limit))}
        </span>
      )}
    </p>
  );
}

/** The wallet has switched accounts: the text stays with its owner. */
function OtherAccountNote({ draft }: { draft: OpenDraft }) {
  const now = author.value;
  if (now === draft.account) return null;
  return (
    <div class="studio-note warn" role="alert">
      <p>
        {now
          ? WORDS.belongsToAnotherAccount(short(draft.account), short(now))
          : WORDS.belongsToNoAccount(short(draft.account))}
      </p>
      {now && <a href="#/">{WORDS.draftsOf(short(now))}</a>}
    </div>
  );
}

/** Writing and saving work without a session; versions saved elsewhere are not seen. */
function SessionNote({ draft }: { draft: OpenDraft }) {
  const state = draft.saving.value;
  const isSaid = state.kind === "refused" && state.action === "sign-in";
  if (author.value !== draft.account || isSignedIn.value || isSaid) return null;
  return (
    <div class="studio-note" role="status">
      <p>{WORDS.youreNotSignedCan}</p>
      <SignInButton label={WORDS.signIn} />
    </div>
  );
}

function GoneNote({ draft, postId }: { draft: OpenDraft; postId: string | null }) {
  return (
    <div class="studio-note warn" role="alert">
      <p>{postId ? WORDS.draftPublishedCanNo : WORDS.draftDeletedElsewhereText}</p>
      {postId && <a href={`/p/${postId}`}>{WORDS.readPost}</a>}
      <button type="button" onClick={() => void draft.becomeNew()}>
        {WORDS.continueNewDraft}
      </button>
    </div>
  );
}

/** Whether another tab has the same draft open. */
function OtherTabNote({ draft, isHidden }: { draft: OpenDraft; isHidden: boolean }) {
  const [others, setOthers] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const { account, tab } = draft;
    const stop = hearTabs((message) => {
      if (message.account !== account || message.key !== draft.key) return;
      if (message.kind === "opened") tellTabs({ kind: "present", account, key: draft.key, tab });
      setOthers((known) => {
        const next = new Set(known);
        if (message.kind === "closed") next.delete(message.tab);
        else next.add(message.tab);
        return next;
      });
    });
    tellTabs({ kind: "opened", account, key: draft.key, tab });
    const leave = () => tellTabs({ kind: "closed", account, key: draft.key, tab });
    addEventListener("pagehide", leave);
    return () => {
      removeEventListener("pagehide", leave);
      leave();
      stop();
    };
  }, [draft]);
  if (others.size === 0 || isHidden) return null;
  return (
    <div class="studio-note" role="status">
      <p>{WORDS.draftAlsoOpenAnother}</p>
    </div>
  );
}

/** Reports events of the page: network, focus, other tabs, and leaving. */
function usePageEvents(draft: OpenDraft): void {
  const isReader = isSignedIn.value;
  useEffect(() => {
    // Without the network or a session there is nothing to check; the next save will find out.
    const look = () => {
      if (isReader && document.visibilityState === "visible")
        void draft.look().catch(() => undefined);
    };
    const online = () => {
      draft.wake();
      look();
    };
    const hide = () => void draft.keep();
    const leave = (event: BeforeUnloadEvent) => {
      if (!draft.isKept) event.preventDefault();
    };
    const stop = hearTabs((message) => {
      const isOurs = message.account === draft.account && message.key === draft.key;
      if (isOurs && message.kind === "saved" && message.cid !== draft.base && isReader)
        void draft.look().catch(() => undefined);
    });
    addEventListener("online", online);
    addEventListener("focus", look);
    addEventListener("pagehide", hide);
    addEventListener("beforeunload", leave);
    look();
    return () => {
      removeEventListener("online", online);
      removeEventListener("focus", look);
      removeEventListener("pagehide", hide);
      removeEventListener("beforeunload", leave);
      stop();
    };
  }, [draft, isReader]);
}
