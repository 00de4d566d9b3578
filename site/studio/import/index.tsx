/** Import: posts of other services become drafts. Files are read in this browser only. */

import { useEffect, useState } from "preact/hooks";
import { encryptionSentence, isEncrypted } from "../../page/encryption.ts";
import { day } from "../../page/format.ts";
import { formatRoute } from "../routes.ts";
import { hasWritingSessions, writing } from "../saves/writing-session.ts";
import { SignInAgain } from "../sign-in.tsx";
import { author, isSignedIn } from "../store/drafts.ts";
import { WORDS as STUDIO_WORDS } from "../words.ts";
import { type FoundPost, webAddress } from "./formats/found-post.ts";
import { importPorts } from "./import-ports.ts";
import { countOf, type ImportItem, type ImportState, pendingItems } from "./import-state.ts";
import { Importer } from "./importer.ts";
import { WORDS } from "./words.ts";

/** Imports of this page, which continue while another view is shown. */
const importers = new Map<string, Importer>();

function importerOf(account: string): Importer {
  const known = importers.get(account) ?? new Importer(importPorts(account));
  importers.set(account, known);
  return known;
}

const SHOWN = 100;

export function ImportView() {
  const account = author.value;
  if (!account) return null;
  if (!isEncrypted()) return <p class="studio-empty">{encryptionSentence(WORDS.importing)}</p>;
  if (!isSignedIn.value) return <SignInAgain reason={WORDS.signInReason} />;
  return <Import key={account} importer={importerOf(account)} />;
}

function Import({ importer }: { importer: Importer }) {
  const state = importer.state.value;
  useEffect(() => void importer.resume().catch(() => undefined), [importer]);
  return (
    <section class="import" aria-labelledby="import-heading">
      <header>
        <h1 id="import-heading">{STUDIO_WORDS.import}</h1>
        <p>{WORDS.promise}</p>
      </header>
      <Files importer={importer} isBusy={state.phase !== "idle"} />
      <Progress state={state} />
      {state.problem && (
        <p class="studio-note warn" role="alert">
          {state.problem}
        </p>
      )}
      {state.notes.length > 0 && (
        <ul class="import-notes" aria-label={WORDS.leftOutLabel}>
          {state.notes.slice(0, SHOWN).map((note) => (
            <li>{note}</li>
          ))}
        </ul>
      )}
      {state.items.length > 0 && <Found importer={importer} state={state} />}
    </section>
  );
}

function Files({ importer, isBusy }: { importer: Importer; isBusy: boolean }) {
  const [address, setAddress] = useState("");
  const origin = webAddress(
    /^[\w-]+(\.[\w-]+)+/.test(address) ? `https://${address}` : address,
    null,
  );
  const read = (event: Event) => {
    const input = event.currentTarget as HTMLInputElement;
    const files = [...(input.files ?? [])].map((file) => ({
      path: file.webkitRelativePath || file.name,
      blob: file,
    }));
    void importer.read(files, origin);
    // The same files may be chosen again, with another address.
    input.value = "";
  };
  return (
    <div class="import-files">
      <label class="import-field">
        <span>{WORDS.oldAddressLabel}</span>
        <input
          type="url"
          placeholder="https://"
          value={address}
          disabled={isBusy}
          aria-describedby="import-address-hint"
          onInput={(event) => setAddress(event.currentTarget.value)}
        />
        <small id="import-address-hint">{WORDS.oldAddressHint}</small>
      </label>
      <label class="import-field">
        <span>{WORDS.filesLabel}</span>
        <input
          type="file"
          multiple
          accept=".zip,.json,.xml,.md,.markdown,.html,.csv,image/*"
          disabled={isBusy}
          onChange={read}
        />
      </label>
      <label class="import-field">
        <span>{WORDS.folderLabel}</span>
        <input
          type="file"
          multiple
          {...{ webkitdirectory: true }}
          disabled={isBusy}
          onChange={read}
        />
      </label>
      <details>
        <summary>{WORDS.whereFilesAreHeading}</summary>
        <dl>
          {WORDS.whereFilesAre.map(([name, where]) => (
            <div>
              <dt>{name}</dt>
              <dd>{where}</dd>
            </div>
          ))}
        </dl>
      </details>
    </div>
  );
}

function Progress({ state }: { state: ImportState }) {
  if (state.phase === "idle") return null;
  const { phase, done, total } = state;
  const figures = phase === "reading" ? WORDS.postsSoFar(done) : STUDIO_WORDS.countOf(done, total);
  return (
    <div class="import-progress" role="status">
      <label for="import-bar">{WORDS.progress(WORDS.phases[phase], figures)}</label>
      <progress
        id="import-bar"
        {...(phase === "reading" ? {} : { value: done, max: total || 1 })}
      />
      {phase !== "reading" && <small>{WORDS.mayClosePage}</small>}
    </div>
  );
}

function Found({ importer, state }: { importer: Importer; state: ImportState }) {
  const [isAll, setAll] = useState(false);
  const isBusy = state.phase !== "idle";
  const pending = pendingItems(state);
  const made = countOf(state, "made");
  const interrupted = countOf(state, "kept");
  const shown = isAll ? state.items : state.items.slice(0, SHOWN);
  const isEveryChosen = state.items.every(({ isChosen }) => isChosen);
  const action = interrupted === pending.length ? WORDS.continueDrafts : WORDS.createDrafts;
  const label = pending.length ? action(pending.length) : WORDS.nothingToCreate;
  return (
    <>
      <div class="import-action">
        <button
          type="button"
          class="primary"
          disabled={isBusy || pending.length === 0}
          onClick={() => void importer.run()}
        >
          {label}
        </button>
        <p>{signatures()}</p>
        {made > 0 && (
          <p role="status">
            {WORDS.alreadyImported(made)}{" "}
            <a href={formatRoute({ view: "drafts" })}>{WORDS.draftsLink}</a>
          </p>
        )}
      </div>
      <label class="import-all">
        <input
          type="checkbox"
          checked={isEveryChosen}
          disabled={isBusy}
          onChange={() => importer.dispatch({ kind: "choose-all", isChosen: !isEveryChosen })}
        />
        {WORDS.chooseAll(state.items.length)}
      </label>
      <ul class="import-list" aria-label={WORDS.foundPostsLabel}>
        {shown.map((item) => (
          <Line key={item.source} item={item} importer={importer} isBusy={isBusy} />
        ))}
      </ul>
      {shown.length < state.items.length && (
        <button type="button" onClick={() => setAll(true)}>
          {WORDS.showAll(state.items.length)}
        </button>
      )}
    </>
  );
}

function signatures(): string {
  if (writing.value) return WORDS.savesWithoutPrompts;
  return hasWritingSessions ? WORDS.savesAfterOneSignature : WORDS.savesWithASignatureEach;
}

interface LineProps {
  item: ImportItem;
  importer: Importer;
  isBusy: boolean;
}

function Line({ item, importer, isBusy }: LineProps) {
  const { source, title, post, isChosen, standing } = item;
  const name = title || STUDIO_WORDS.untitled;
  return (
    <li class="import-line" data-state={standing.kind}>
      <label>
        <input
          type="checkbox"
          checked={standing.kind === "kept" || (isChosen && standing.kind !== "made")}
          disabled={isBusy || standing.kind === "made" || standing.kind === "kept"}
          onChange={() => importer.dispatch({ kind: "choose", source, isChosen: !isChosen })}
        />
        <span class="import-title">{name}</span>
      </label>
      <p class="import-facts">
        {post && <Facts post={post} />}
        {standing.kind === "kept" && <span>{WORDS.keptNotSaved}</span>}
        {standing.kind === "failed" && <span class="import-failure">{standing.sentence}</span>}
        {standing.kind === "made" && (
          <>
            <a href={formatRoute({ view: "draft", key: standing.key })}>
              {WORDS.openImportedDraft}
            </a>
            <button
              type="button"
              class="quiet"
              disabled={isBusy || !post}
              aria-label={WORDS.importAgainNamed(name)}
              onClick={() => void importer.forget(source)}
            >
              {WORDS.importAgain}
            </button>
          </>
        )}
      </p>
      {post && standing.kind !== "made" && <Changes post={post} name={name} />}
    </li>
  );
}

function Facts({ post }: { post: FoundPost }) {
  return (
    <>
      <span>{post.format}</span>
      {post.date && <span>{day(post.date)}</span>}
      {post.tags.length > 0 && <span>{post.tags.slice(0, 10).map((tag) => `#${tag} `)}</span>}
      {post.pictures.length > 0 && <span>{WORDS.picturesInside(post.pictures.length)}</span>}
      {post.remarks.map((remark) => (
        <span>{remark}</span>
      ))}
    </>
  );
}

/** What the draft will not have, and the pictures that stay elsewhere. */
function Changes({ post, name }: { post: FoundPost; name: string }) {
  const { losses, linkedPictures } = post;
  if (losses.length === 0 && linkedPictures.length === 0) return null;
  return (
    <details class="import-changes">
      <summary aria-label={WORDS.changesIn(name)}>{WORDS.changesHeading}</summary>
      <ul>
        {losses.map((loss) => (
          <li>{loss}</li>
        ))}
        {linkedPictures.length > 0 && (
          <li>
            {WORDS.picturesElsewhere(linkedPictures.length)}
            <ul>
              {linkedPictures.slice(0, SHOWN).map((address) => (
                <li>{address}</li>
              ))}
            </ul>
          </li>
        )}
      </ul>
    </details>
  );
}
