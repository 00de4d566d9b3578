/** Publishing: the form of a post, and then the steps until it is on the chain. */

import { POST_LIMITS } from "imprint-press";
import { useEffect, useState } from "preact/hooks";
import { type Account, account } from "../../wallet/index.ts";
import { go, route } from "../routes.ts";
import { SignInAgain } from "../sign-in.tsx";
import { descriptionOf, titleOf } from "../store/draft-text.ts";
import { findDraft, isSignedIn, markPublication, readContent } from "../store/drafts.ts";
import { measureOpening } from "../store/opening-length.ts";
import { WORDS } from "../words.ts";
import { type Length, PublishForm } from "./form.tsx";
import {
  type Form,
  hearProgress,
  keepForm,
  keepPictures,
  keepProgress,
  type Pictures,
  recallForm,
  recallPictures,
  recallProgress,
} from "./kept-publication.ts";
import { fitBytes } from "./limits.ts";
import { beginProgress, type PostDetails, type Progress } from "./progress.ts";
import { Publication } from "./publication.ts";
import { publicationPorts } from "./publication-ports.ts";
import { PublicationSteps } from "./publication-steps.tsx";

/** Publications of this page, which continue while another view is shown. */
const publications = new Map<string, Publication>();

const UNKEPT = WORDS.browserCantStorePicture;

const placeOf = (address: string, key: string): string => `${address.toLowerCase()} ${key}`;

/** The running publication of a draft, here or from before a reload; null if there is none. */
function resume(by: Account, key: string): Publication | null {
  const known = publications.get(placeOf(by.address, key));
  if (known) return known;
  const progress = recallProgress(by.address, key);
  return progress && open(by, key, progress);
}

function open(by: Account, key: string, progress: Progress): Publication {
  const { address } = by;
  let current = key;
  const ports = publicationPorts(address, key, async (next) => {
    // The first save of a draft gives it another key: everything moves there.
    current = next;
    publications.set(placeOf(address, next), publication);
    keepForm(address, next, recallForm(address, key));
    publication.rename(next);
    // Other tabs at the old key read the new one here, before it is removed.
    keepProgress(address, key, publication.progress.value);
    keepProgress(address, key, null);
    keepForm(address, key, null);
    markPublication(key, null);
    await move(address, key, next);
    // The author may have left this view: publications continue without being shown.
    const shown = route.peek();
    if (shown.view === "publish" && shown.key === key)
      go({ view: "publish", key: next }, { replace: true });
  });
  const publication = new Publication(progress, {
    ...ports,
    keep(next) {
      ports.keep(next);
      const state = next.step === "done" ? "published" : "publishing";
      if (next.step === "done") {
        keepForm(address, current, null);
        void keepPictures(address, current, null).catch(() => undefined);
      }
      markPublication(current, { state, ...(next.postId && { postId: next.postId }) });
    },
  });
  publications.set(placeOf(address, key), publication);
  return publication;
}

async function move(address: string, from: string, to: string): Promise<void> {
  await keepPictures(address, to, await recallPictures(address, from));
  await keepPictures(address, from, null);
}

const EMPTY: Form = {
  title: "",
  description: "",
  price: "",
  tags: [],
  picture: "made",
  crop: null,
};

interface Opened {
  readonly content: string;
  readonly form: Form;
  readonly length: Length;
  readonly pictures: Pictures;
}

export function PublishView({ draftKey }: { draftKey: string }) {
  const by = account.value;
  const [opened, setOpened] = useState<Opened | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const [attempt, setAttempt] = useState(0);
  const [publication, setPublication] = useState<Publication | null>(null);
  const isReady = isSignedIn.value;
  const forget = (address: string) => {
    markPublication(draftKey, null);
    publications.delete(placeOf(address, draftKey));
    setPublication(null);
  };
  useEffect(() => {
    if (!by) return;
    setOpened(null);
    const found = resume(by, draftKey);
    setPublication(found);
    if (found) void found.attend();
  }, [by, draftKey]);
  useEffect(() => {
    if (!by) return;
    // Another tab starts, continues or cancels the same publication.
    return hearProgress(by.address, draftKey, (kept) => {
      if (kept && kept.draftKey !== draftKey) {
        go({ view: "publish", key: kept.draftKey }, { replace: true });
      } else if (kept) {
        const found = publication ?? resume(by, draftKey);
        found?.refresh();
        setPublication(found);
        void found?.attend();
      } else if (publication && !publication.isRunning.value) forget(by.address);
    });
  }, [by, draftKey, publication]);
  useEffect(() => {
    if (!by || !isReady || publication) return;
    let isShown = true;
    setFailure(null);
    load(by.address, draftKey).then(
      (value) => isShown && setOpened(value),
      (error) => isShown && setFailure(error instanceof Error ? error.message : String(error)),
    );
    return () => {
      isShown = false;
    };
  }, [by, draftKey, isReady, publication, attempt]);
  if (!by) return null;
  const edit = () => {
    keepProgress(by.address, draftKey, null);
    forget(by.address);
  };
  const start = async (details: PostDetails, pictures: Pictures) => {
    const other = resume(by, draftKey);
    if (other) {
      setPublication(other);
      return other.attend();
    }
    await keepPictures(by.address, draftKey, pictures).catch((error) => {
      throw new Error(UNKEPT, { cause: error });
    });
    const begun = beginProgress(by.address, draftKey, details);
    keepProgress(by.address, draftKey, begun);
    const made = open(by, draftKey, begun);
    setPublication(made);
    void made.run();
  };
  if (publication) return <PublicationSteps publication={publication} onEdit={edit} />;
  if (!isReady) return <SignInAgain reason={WORDS.publishText} />;
  if (failure) return <Failed sentence={failure} onRetry={() => setAttempt(attempt + 1)} />;
  if (!opened) return <p role="status">{WORDS.openingText}</p>;
  return <PublishForm key={draftKey} by={by} draftKey={draftKey} {...opened} onStart={start} />;
}

function Failed({ sentence, onRetry }: { sentence: string; onRetry(): void }) {
  return (
    <div class="studio-empty" role="alert">
      <p>{sentence}</p>
      <button type="button" onClick={onRetry}>
        {WORDS.tryAgain}
      </button>
    </div>
  );
}

async function load(address: string, key: string): Promise<Opened> {
  const draft = await findDraft(key);
  if (!draft) throw new Error(WORDS.draftDoesntExistMay);
  const content = await readContent(draft);
  const pictures = await recallPictures(address, key);
  const form = recallForm(address, key) ?? {
    ...EMPTY,
    title: fitBytes(titleOf(content), POST_LIMITS.titleBytes),
    description: fitBytes(descriptionOf(content), POST_LIMITS.descriptionBytes),
  };
  // Without the picture itself, its crop is useless.
  const isLost = form.picture === "own" && pictures.source === null;
  const known: Form = isLost ? { ...form, picture: "made", crop: null } : form;
  return { content, form: known, length: measureOpening(content), pictures };
}
