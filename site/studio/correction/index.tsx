/** The correction of a published post: its newest text, what changes, a note, one signature. */

import { type Post, Unconfirmed, Unreachable } from "imprint-press";
import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { imprint } from "../../page/service.ts";
import { account, connect, explain, session } from "../../wallet/index.ts";
import { Differences } from "../editor/differences.tsx";
import { MarkdownEditor } from "../editor/markdown-editor.tsx";
import { SignInAgain, Welcome } from "../sign-in.tsx";
import { joinTitle } from "../store/draft-text.ts";
import { useUnsaved } from "../unsaved.ts";
import { WORDS as STUDIO_WORDS } from "../words.ts";
import {
  advance,
  type Correction,
  canSign,
  correctable,
  isNote,
  NOTE_LENGTH,
  openCorrection,
} from "./correction.ts";
import { WORDS } from "./words.ts";

/** Milliseconds after which a page that is not loaded yet is shown from the cache. */
const REFRESH_MS = 3000;

/** Corrections that were not signed before their author opened another view, by post. */
const unsigned = new Map<string, Correction>();

interface Opened {
  readonly post: Post;
  readonly content: string;
}

export function CorrectView({ postId }: { postId: string }) {
  const [opened, setOpened] = useState<Opened | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const isReader = session.value !== null;
  const load = () => {
    if (opened || !isReader) return;
    setFailure(null);
    Promise.all([imprint.showPost(postId), imprint.readPostContent(postId)]).then(
      ([post, { content }]) => setOpened({ post, content }),
      (error) => setFailure(explain(error).sentence),
    );
  };
  useEffect(load, [isReader]);
  if (opened) return <OpenedView {...opened} />;
  if (!account.value) return <Welcome />;
  if (!isReader) return <SignInAgain reason={STUDIO_WORDS.correctPost} />;
  if (failure)
    return (
      <div class="studio-note" role="alert">
        <p>{failure}</p>
        <button type="button" onClick={load}>
          {STUDIO_WORDS.tryAgain}
        </button>
      </div>
    );
  return <p role="status">{WORDS.opening}</p>;
}

/** An opened correction stays, even if its author disconnects the wallet. */
function OpenedView({ post, content }: Opened) {
  const [isOwn] = useState(() => account.value?.address.toLowerCase() === post.author);
  if (isOwn) return <Editor post={post} content={content} />;
  return (
    <p class="studio-note" role="alert">
      {WORDS.notYours}
    </p>
  );
}

function Editor({ post, content }: Opened) {
  const [titled] = useState(() => correctable(content, post.title));
  const [state, send] = useReducer(advance, titled.body, (shown) =>
    openCorrection(shown, unsigned.get(post.id)),
  );
  const done = useRef<HTMLAnchorElement>(null);
  // A text that may have been published although no response came.
  const uncertain = useRef<string | null>(null);
  const isSigning = state.state === "signing";
  const isUnsigned = state.text !== state.shown;
  useUnsaved(isUnsigned);
  useEffect(() => {
    if (isUnsigned) unsigned.set(post.id, state);
    else unsigned.delete(post.id);
  }, [state]);
  const sign = async (event: Event) => {
    event.preventDefault();
    if (!canSign(state)) return;
    send({ type: "sign" });
    const text = joinTitle({ ...titled, body: state.text });
    try {
      if (uncertain.current !== text || !(await isShown(post, text))) {
        const { address, wallet } = await connect();
        if (address.toLowerCase() !== post.author) throw new OtherAccount();
        await imprint.revisePost(wallet, post.id, text, { note: state.note, cid: post.cid });
      }
      await refreshPage(post);
      send({ type: "signed" });
    } catch (error) {
      if (error instanceof OtherAccount) return send({ type: "failed", sentence: WORDS.notYours });
      if (error instanceof Unreachable || error instanceof Unconfirmed) uncertain.current = text;
      send({ type: "failed", sentence: explain(error).sentence });
    }
  };
  useEffect(() => {
    if (state.state === "done") done.current?.focus();
  }, [state.state]);
  const length = [...state.note].length;
  return (
    <form class="correct" onSubmit={(event) => void sign(event)} noValidate>
      <h1>{WORDS.heading(post.title || STUDIO_WORDS.untitled)}</h1>
      <p>{WORDS.purpose}</p>
      <div inert={isSigning}>
        <MarkdownEditor
          text={state.text}
          label={WORDS.textLabel}
          hasTitle={false}
          onChange={(text) => send({ type: "typed", text })}
        />
      </div>
      <h2>{WORDS.changes}</h2>
      {state.text === state.shown ? (
        <p>{WORDS.nothingChanged}</p>
      ) : (
        <Differences
          label={STUDIO_WORDS.bothVersions}
          left={state.text}
          right={state.shown}
          leftName={WORDS.after}
          rightName={WORDS.before}
        />
      )}
      <div class="publish-field">
        <div class="publish-label">
          <label for="correct-note">{WORDS.noteLabel}</label>
          <span class="publish-count" data-over={length > NOTE_LENGTH ? "" : undefined}>
            {STUDIO_WORDS.countOf(length, NOTE_LENGTH)}
          </span>
        </div>
        <input
          id="correct-note"
          type="text"
          value={state.note}
          readOnly={isSigning}
          aria-invalid={!isNote(state.note)}
          aria-describedby="correct-note-hint correct-note-problem"
          onInput={({ currentTarget }) => send({ type: "noted", note: currentTarget.value })}
        />
        <p id="correct-note-hint" class="publish-hint">
          {WORDS.noteHint}
        </p>
        <p id="correct-note-problem" class="publish-problem" aria-live="polite">
          {isNote(state.note) ? null : WORDS.noteTooLong}
        </p>
      </div>
      <div class="profile-actions">
        <button type="submit" class="primary" disabled={!canSign(state)}>
          {isSigning ? WORDS.signing : WORDS.sign}
        </button>
        {state.state === "done" && (
          <p role="status">
            {WORDS.published}{" "}
            <a ref={done} href={post.links.page}>
              {WORDS.seePost}
            </a>
          </p>
        )}
      </div>
      {state.failure && (
        <p class="publish-problem" role="alert">
          {state.failure}
        </p>
      )}
    </form>
  );
}

/** The wallet shows an account that is not the author. */
class OtherAccount extends Error {}

/** Whether readers already see this text. */
const isShown = async ({ id }: Post, text: string): Promise<boolean> =>
  (await imprint.readPostContent(id)).content === text;

/** Replace the page of a post in the cache of this browser, where the old text may still be. */
async function refreshPage({ links }: Post): Promise<void> {
  const signal = AbortSignal.timeout(REFRESH_MS);
  await fetch(new URL(links.page).pathname, { cache: "reload", signal }).catch(() => undefined);
}
