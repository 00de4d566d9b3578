/** Import: posts of other services become drafts. Files are read in this browser only. */

import { useEffect, useState } from "preact/hooks";
import { encryptionSentence, isEncrypted } from "../../page/encryption.ts";
import { count, day } from "../../page/format.ts";
import { formatRoute } from "../routes.ts";
import { hasWritingSessions, writing } from "../saves/writing-session.ts";
import { SignInAgain } from "../sign-in.tsx";
import { author, isSignedIn } from "../store/drafts.ts";
import { type FoundPost, webAddress } from "./formats/found-post.ts";
import { importPorts } from "./import-ports.ts";
import { countOf, type ImportItem, type ImportState, pendingItems } from "./import-state.ts";
import { Importer } from "./importer.ts";

/** Imports of this page, which continue while another view is shown. */
const importers = new Map<string, Importer>();

function importerOf(account: string): Importer {
  const known = importers.get(account) ?? new Importer(importPorts(account));
  importers.set(account, known);
  return known;
}

const SHOWN = 100;

const SERVICES: readonly (readonly [string, string])[] = [
  ["Ghost", "the JSON file of Settings → Import/Export, and the zip of your images if you have it"],
  ["Substack", "the zip of Settings → Exports"],
  ["Medium", "the zip of Settings → Security and apps → Download your information"],
  ["WordPress", "the XML files of Tools → Export"],
  ["Mirror", "the JSON files of your posts from Arweave, whose signatures are checked"],
  ["Jekyll, Hugo, Obsidian", "the folder with your Markdown files and pictures, or a zip of it"],
];

export function ImportView() {
  const account = author.value;
  if (!account) return null;
  if (!isEncrypted()) return <p class="studio-empty">{encryptionSentence("Importing")}</p>;
  if (!isSignedIn.value) return <SignInAgain reason="to import your posts" />;
  return <Import key={account} importer={importerOf(account)} />;
}

function Import({ importer }: { importer: Importer }) {
  const state = importer.state.value;
  useEffect(() => void importer.resume().catch(() => undefined), [importer]);
  return (
    <section class="import" aria-labelledby="import-heading">
      <header>
        <h1 id="import-heading">Import</h1>
        <p>
          Bring your posts along. Your files stay in this browser: only the drafts that you create
          are saved, and only you can read them. Nothing is published.
        </p>
      </header>
      <Files importer={importer} isBusy={state.phase !== "idle"} />
      <Progress state={state} />
      {state.problem && (
        <p class="studio-note warn" role="alert">
          {state.problem}
        </p>
      )}
      {state.notes.length > 0 && (
        <ul class="import-notes" aria-label="What was left out">
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
        <span>Address of your old site, if you have one</span>
        <input
          type="url"
          placeholder="https://"
          value={address}
          disabled={isBusy}
          aria-describedby="import-address-hint"
          onInput={(event) => setAddress(event.currentTarget.value)}
        />
        <small id="import-address-hint">
          It completes links and pictures, and says where a post was first published. Nothing is
          loaded from there.
        </small>
      </label>
      <label class="import-field">
        <span>Files or zips</span>
        <input
          type="file"
          multiple
          accept=".zip,.json,.xml,.md,.markdown,.html,.csv,image/*"
          disabled={isBusy}
          onChange={read}
        />
      </label>
      <label class="import-field">
        <span>A folder</span>
        <input
          type="file"
          multiple
          {...{ webkitdirectory: true }}
          disabled={isBusy}
          onChange={read}
        />
      </label>
      <details>
        <summary>Where to find your files</summary>
        <dl>
          {SERVICES.map(([name, where]) => (
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

const PHASES = { reading: "Reading your files", keeping: "Preparing", saving: "Saving drafts" };

function Progress({ state }: { state: ImportState }) {
  if (state.phase === "idle") return null;
  const { phase, done, total } = state;
  const figures = phase === "reading" ? `${count(done, "post")} so far` : `${done} of ${total}`;
  return (
    <div class="import-progress" role="status">
      <label for="import-bar">
        {PHASES[phase]}: {figures}
      </label>
      <progress
        id="import-bar"
        {...(phase === "reading" ? {} : { value: done, max: total || 1 })}
      />
      {phase !== "reading" && (
        <small>You may close this page. What is left continues when you open it again.</small>
      )}
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
  const verb = interrupted === pending.length ? "Continue with" : "Create";
  const label = pending.length ? `${verb} ${count(pending.length, "draft")}` : "Nothing to create";
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
            {count(made, "post")} already imported.{" "}
            <a href={formatRoute({ view: "drafts" })}>To your drafts</a>
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
        All {count(state.items.length, "post")}
      </label>
      <ul class="import-list" aria-label="Posts in your files">
        {shown.map((item) => (
          <Line key={item.source} item={item} importer={importer} isBusy={isBusy} />
        ))}
      </ul>
      {shown.length < state.items.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {state.items.length}
        </button>
      )}
    </>
  );
}

function signatures(): string {
  if (writing.value) return "This browser saves them without prompts.";
  return hasWritingSessions
    ? "Your wallet signs once; it lets this browser save drafts for 24 hours."
    : "Your wallet signs each of them.";
}

interface LineProps {
  item: ImportItem;
  importer: Importer;
  isBusy: boolean;
}

function Line({ item, importer, isBusy }: LineProps) {
  const { source, title, post, isChosen, standing } = item;
  const name = title || "Untitled";
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
        {standing.kind === "kept" && <span>Kept in this browser, not saved yet</span>}
        {standing.kind === "failed" && <span class="import-failure">{standing.sentence}</span>}
        {standing.kind === "made" && (
          <>
            <a href={formatRoute({ view: "draft", key: standing.key })}>Imported: open the draft</a>
            <button
              type="button"
              class="quiet"
              disabled={isBusy || !post}
              aria-label={`Import ${name} again`}
              onClick={() => void importer.forget(source)}
            >
              Import again
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
      {post.pictures.length > 0 && <span>{count(post.pictures.length, "picture")} inside</span>}
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
      <summary aria-label={`What changes in ${name}`}>What changes</summary>
      <ul>
        {losses.map((loss) => (
          <li>{loss}</li>
        ))}
        {linkedPictures.length > 0 && (
          <li>
            {count(linkedPictures.length, "picture")} elsewhere, left as links:
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
