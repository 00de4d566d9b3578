/** An open draft: the editor, with the state of its saves around it. */

import { useEffect, useRef, useState } from "preact/hooks";
import { short } from "../../page/format.ts";
import { notify } from "../../page/notices.ts";
import { go } from "../routes.ts";
import { saveOnceOpen } from "../saves/draft-loader.ts";
import type { DraftEvents, OpenDraft } from "../saves/open-draft.ts";
import { SignInButton } from "../sign-in.tsx";
import { titleOf } from "../store/draft-text.ts";
import { author, isSignedIn } from "../store/drafts.ts";
import { hearTabs, tellTabs } from "../store/tabs.ts";
import { type DraftVersion, draftVersions } from "../store/versions.ts";
import { WORDS } from "../words.ts";
import { Conflict } from "./conflict.tsx";
import { MarkdownEditor } from "./markdown-editor.tsx";
import { PublishLink } from "./publish-link.tsx";
import { KeepTrouble, SaveButton, SaveStanding, SaveTrouble } from "./save-line.tsx";
import { SaveOffer, useSaves } from "./save-offer.tsx";
import type { TextEditor } from "./text/text-editor.ts";
import { VersionsPanel, VersionView } from "./versions.tsx";
import { WritingPanel } from "./writing-panel.tsx";

interface WritingRoomProps {
  readonly draft: OpenDraft;
  onReplace(take: DraftEvents["onText"]): void;
}

export function WritingRoom({ draft, onReplace }: WritingRoomProps) {
  const [editor, setEditor] = useState<TextEditor | null>(null);
  const [compared, setCompared] = useState<DraftVersion | null>(null);
  const saves = useSaves(draft);
  const open = (opened: TextEditor) => {
    onReplace((content, isAsked) => {
      opened.replace(content);
      const text = WORDS.draftSavedElsewhereYoure;
      if (!isAsked) notify({ kind: "info", text });
    });
    setEditor(opened);
    if (draft.text.value === "") opened.focus();
  };
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
    <article>
      <h1 class="unseen">{titleOf(draft.text.value) || WORDS.newDraft}</h1>
      <MarkdownEditor
        text={draft.text.value}
        label={WORDS.textDraftMarkdown}
        hasTitle
        isCovered={isCovered}
        onOpen={open}
        onChange={(content) => draft.change(content)}
        onSave={saves.save}
        bar={
          <div class="writing-bar">
            <a class="back" href="#/">
              <span>{WORDS.drafts}</span>
            </a>
            <SaveStanding draft={draft} />
            <SaveButton draft={draft} onSave={saves.save} />
            <PublishLink draft={draft} onEmpty={() => editor?.view.focus()} />
          </div>
        }
        notes={
          <>
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
          </>
        }
        foot={
          <>
            <VersionsPanel draft={draft} onChoose={setCompared} />
            <WritingPanel />
          </>
        }
      />
      {saves.isAsking && <SaveOffer draft={draft} onClose={saves.close} />}
    </article>
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
