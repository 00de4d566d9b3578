/** A running publication: its steps, and finally the link to the post. */

import { useEffect, useRef, useState } from "preact/hooks";
import { copyText } from "../../page/clipboard.ts";
import { coin } from "../../page/format.ts";
import { announce } from "../../page/notices.ts";
import { formatRoute, go } from "../routes.ts";
import { stepStates } from "../transactions/step-runner.ts";
import { Steps } from "../transactions/steps.tsx";
import { WORDS } from "../words.ts";
import { canBeChanged, type Progress, STEPS, type Step } from "./progress.ts";
import type { Publication } from "./publication.ts";

const NAMES: Readonly<Record<Step, string>> = {
  text: WORDS.saveLatestText,
  upload: WORDS.signUploadPicture,
  transaction: WORDS.sendTransaction,
  mined: WORDS.confirmed,
  listed: WORDS.listedSite,
};

const NOTES: Readonly<Record<Step, string>> = {
  text: WORDS.latestTextGoesService,
  upload: WORDS.confirmSignatureWalletFree,
  transaction: WORDS.confirmTransactionWalletWhich,
  mined: WORDS.networkProcessingCanClose,
  listed: WORDS.postChainWillAppear,
};

interface Props {
  publication: Publication;
  onEdit(): void;
}

export function PublicationSteps({ publication, onEdit }: Props) {
  const progress = publication.progress.value;
  const failure = publication.failure.value;
  const isRunning = publication.isRunning.value;
  const isElsewhere = publication.isElsewhere.value;
  const states = stepStates(STEPS, progress.step, failure !== null);
  const steps = STEPS.map((step, index) => ({
    name: NAMES[step],
    state: states[index] ?? "ahead",
    note: NOTES[step],
  }));
  const edit = canBeChanged(progress) ? onEdit : undefined;
  const isDone = progress.step === "done";
  return (
    <section class="publish-running">
      <header>
        <p class="publish-over" data-done={isDone ? "" : undefined}>
          {isDone ? WORDS.published : WORDS.publishing}
        </p>
        <h1>{progress.details.title}</h1>
        <p class="publish-what">{summaryOf(progress)}</p>
      </header>
      {isDone && progress.postId && <Share postId={progress.postId} />}
      {isElsewhere && (
        <p class="studio-note" role="status">
          {WORDS.yourePublishingAnotherTab}
        </p>
      )}
      <Steps
        steps={steps}
        failure={failure}
        isRunning={isRunning}
        isElsewhere={isElsewhere}
        waiting={publication.note.value}
        continueLabel={WORDS.continuePublishing}
        onContinue={() => void publication.run()}
        onAskAgain={() => void publication.askAgain()}
        onNewVersion={() => void publication.publishNewVersion()}
        onSwitchChain={() => void publication.switchChain()}
        {...(edit && { onEdit: edit })}
        onOpenText={() => go({ view: "draft", key: progress.draftKey })}
      />
      {!isRunning && !isElsewhere && edit && !failure?.actions.includes("edit") && (
        <button type="button" class="quiet" onClick={edit}>
          {WORDS.backForm}
        </button>
      )}
      {progress.transaction && !isDone && (
        <p class="publish-hint">
          {WORDS.transaction}
          <code>{progress.transaction}</code>
        </p>
      )}
    </section>
  );
}

function summaryOf({ details: { price, hashtags } }: Progress): string {
  const cost = price === "0" ? WORDS.free : WORDS.readersPay(coin(price));
  return [cost, ...hashtags.map((tag) => `#${tag}`)].join(" · ");
}

function Share({ postId }: { postId: string }) {
  const [isCopied, setCopied] = useState(false);
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => link.current?.focus(), []);
  const address = `${location.origin}/p/${postId}`;
  const share = async () => {
    try {
      if (navigator.share) await navigator.share({ url: address });
      else {
        await copyText(address);
        setCopied(true);
        announce(WORDS.linkCopied);
      }
    } catch {
      // Cancelled, or not allowed to copy: the link can still be selected.
    }
  };
  return (
    <div class="publish-done">
      <div class="publish-actions">
        <a ref={link} class="button primary" href={`/p/${postId}`}>
          {WORDS.viewPost}
        </a>
        <button type="button" onClick={share}>
          {isCopied ? WORDS.linkCopiedLabel : WORDS.shareLink}
        </button>
      </div>
      <p>
        <code>{address}</code>
      </p>
      <p class="publish-hint">
        <a href={formatRoute({ view: "income" })}>{WORDS.yourIncomeLink}</a>
        {WORDS.showsWhoBuysLets}
      </p>
    </div>
  );
}
