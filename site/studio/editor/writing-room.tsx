/** An open draft: bar, notes, text and preview. */

import { useEffect, useRef, useState } from "preact/hooks";
import { count, fileSize, short } from "../../page/format.ts";
import { announce, notify } from "../../page/notices.ts";
import { go } from "../routes.ts";
import { saveOnceOpen } from "../saves/draft-loader.ts";
import type { DraftEvents, OpenDraft } from "../saves/open-draft.ts";
import { SignInButton } from "../sign-in.tsx";
import { countBytes, countWords, readingMinutes, titleOf } from "../store/draft-text.ts";
import { author, isSignedIn } from "../store/drafts.ts";
import { hearTabs, tellTabs } from "../store/tabs.ts";
import { Conflict } from "./conflict.tsx";
import { Preview } from "./preview.tsx";
import { PublishLink } from "./publish-link.tsx";
import { KeepTrouble, SaveButton, SaveStanding, SaveTrouble } from "./save-line.tsx";
import { UnusablePicture } from "./text/pictures.ts";
import { TextEditor } from "./text/text-editor.ts";
import { Toolbar } from "./text/toolbar.tsx";
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
  const [shown, setShown] = useState<Shown>(() => (matchMedia(WIDE).matches ? "both" : "text"));
  useEffect(() => {
    if (!place.current) return;
    const made = new TextEditor({
      parent: place.current,
      content: draft.text.value,
      contentLimit,
      hint: HINT,
      onChange: (content) => draft.change(content),
      onSave: () => void draft.save({ isAsked: true }),
      onPicture: (isSelected) =>
        announce(`The picture is in the text.${isSelected ? " Type to describe it." : ""}`),
      onPictureFailure: (error) => {
        const unusable = error instanceof UnusablePicture;
        const text = unusable ? error.message : "The picture could not be put into the text.";
        notify({ kind: "bad", text });
      },
    });
    onReplace((content, isAsked) => {
      made.replace(content);
      const text = "This draft was saved somewhere else: you see that version now.";
      if (!isAsked) notify({ kind: "info", text });
    });
    setEditor(made);
    if (draft.text.value === "") made.view.focus();
    return () => made.destroy();
  }, [draft]);
  usePageEvents(draft);
  const state = draft.saving.value;
  const takeTheirs = async () => {
    await draft.takeTheirs("");
    notify({ kind: "good", text: "You go on with the other version. Yours is among your drafts." });
  };
  const keepBoth = async () => {
    const mine = await draft.takeTheirs("");
    if (!mine) return;
    saveOnceOpen(mine);
    go({ view: "draft", key: mine });
    notify({
      kind: "info",
      text: "Both are kept: the other version in its draft, and yours here, as a new one.",
    });
  };
  return (
    <article class="writing" data-shown={shown}>
      <h1 class="unseen">{titleOf(draft.text.value) || "New draft"}</h1>
      <header class="writing-head">
        <div class="writing-bar">
          <a class="back" href="#/">
            <span>Drafts</span>
          </a>
          <SaveStanding draft={draft} />
          <SaveButton draft={draft} />
          <PublishLink draft={draft} onEmpty={() => editor?.view.focus()} />
        </div>
        <div class="writing-tools" hidden={state.kind === "conflict"}>
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
      <div class="writing-panes" hidden={state.kind === "conflict"}>
        <section class="writing-text" aria-label="Text" hidden={shown === "preview"}>
          <div class="text-editor" ref={place} />
        </section>
        <Preview text={draft.text} isShown={shown !== "text"} />
      </div>
      <footer class="writing-foot" hidden={state.kind === "conflict"}>
        <Counts draft={draft} limit={contentLimit} />
        <p id={HINT} class="hint">
          Tab indents. To leave the text by keyboard, press Escape, then Tab.
        </p>
        <WritingPanel />
      </footer>
    </article>
  );
}

function ViewSwitch({ shown, onShow }: { shown: Shown; onShow(shown: Shown): void }) {
  const views: readonly { readonly view: Shown; readonly name: string }[] = [
    { view: "text", name: "Text" },
    { view: "both", name: "Both" },
    { view: "preview", name: "Preview" },
  ];
  return (
    <fieldset class="view-switch">
      <legend class="unseen">What is shown</legend>
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
      {count(words, "word")}
      {words > 0 && <span class="reading-time">{` · ${readingMinutes(words)} min to read`}</span>}
      {isTight && (
        <span class={bytes > limit ? "over" : "tight"} role="status">
          {` · ${fileSize(bytes)} of ${fileSize(limit)}`}
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
        This text belongs to {short(draft.account)},{" "}
        {now ? `and your wallet now shows ${short(now)}.` : "and no wallet is connected."} It is
        kept in this browser. Switch back to {short(draft.account)} in your wallet to save it.
      </p>
      {now && <a href="#/">Drafts of {short(now)}</a>}
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
      <p>
        You are not signed in. You can write and save; sign in to be told when this draft is saved
        somewhere else.
      </p>
      <SignInButton label="Sign in" />
    </div>
  );
}

function GoneNote({ draft, postId }: { draft: OpenDraft; postId: string | null }) {
  return (
    <div class="studio-note warn" role="alert">
      <p>
        {postId
          ? "This draft is published, so it does not change any more."
          : "This draft was deleted somewhere else. Your text is still here."}
      </p>
      {postId && <a href={`/p/${postId}`}>Read the post</a>}
      <button type="button" onClick={() => void draft.becomeNew()}>
        Go on with it as a new draft
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
      <p>
        This draft is open in another tab, too. What you write stays apart until you save; then the
        other tab is told.
      </p>
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
