/** The steps of a publication or a price change as they happen, and what to do if one fails. */

import { useEffect, useRef } from "preact/hooks";
import { signIn } from "../../wallet/index.ts";
import { WORDS } from "../words.ts";
import type { Failure, FailureAction } from "./failure.ts";
import type { StepState } from "./step-runner.ts";

interface StepLine {
  readonly name: string;
  readonly state: StepState;
  /** What happens in this step, shown while it is the current one. */
  readonly note: string;
}

interface Props {
  steps: readonly StepLine[];
  failure: Failure | null;
  isRunning: boolean;
  /** Who does not respond at the moment. */
  waiting?: string | null;
  /** Whether another tab does this; then there is nothing to press here. */
  isElsewhere?: boolean;
  /** The label of the button when nothing runs and nothing failed, as after a reload. */
  continueLabel: string;
  onContinue(): void;
  onAskAgain?(): void;
  onNewVersion?(): void;
  onSwitchChain?(): void;
  onEdit?(): void;
  onOpenText?(): void;
}

const SPOKEN: Readonly<Record<StepState, string>> = {
  ahead: WORDS.notYet,
  now: "now",
  failed: "stopped",
  done: "done",
};

export function Steps(props: Props) {
  const { steps, failure, isRunning, isElsewhere, waiting, continueLabel, onContinue } = props;
  const isDone = steps.every(({ state }) => state === "done");
  return (
    <div class="publish-steps">
      <ol class="publish-steps-list" aria-live="polite">
        {steps.map(({ name, state, note }) => (
          <li
            key={name}
            class="publish-step"
            data-state={state}
            data-still={state === "now" && !isRunning && !isElsewhere ? "" : undefined}
            aria-current={state === "now" ? "step" : undefined}
          >
            <span class="publish-step-name">
              {name}
              <span class="unseen">: {SPOKEN[state]}</span>
            </span>
            {state === "now" && isRunning && (
              <p class={waiting ? "publish-step-note waiting" : "publish-step-note"}>
                {waiting ?? note}
              </p>
            )}
          </li>
        ))}
      </ol>
      {failure && <FailureNote {...props} failure={failure} />}
      {!failure && !isRunning && !isElsewhere && !isDone && (
        <button type="button" class="primary" onClick={onContinue}>
          {continueLabel}
        </button>
      )}
    </div>
  );
}

function FailureNote(props: Props & { failure: Failure }) {
  const { failure, onContinue, onAskAgain, onNewVersion, onSwitchChain, onEdit, onOpenText } =
    props;
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), [failure]);
  // Checking again costs nothing, so it has another name where the wallet can be asked again.
  const retry = failure.actions.includes("ask-again") ? WORDS.checkAgain : WORDS.tryAgain;
  const known: Record<FailureAction, { label: string; run?: (() => void) | undefined }> = {
    retry: { label: retry, run: onContinue },
    "ask-again": { label: WORDS.askWalletAgain, run: onAskAgain },
    "new-version": { label: WORDS.saveAsNewVersion, run: onNewVersion },
    "switch-chain": { label: WORDS.switchNetwork, run: onSwitchChain },
    "sign-in": { label: WORDS.signIn, run: () => void signIn().then(onContinue, () => undefined) },
    edit: { label: WORDS.backForm, run: onEdit },
    "open-text": { label: WORDS.openText, run: onOpenText },
  };
  const buttons = failure.actions.map((action) => known[action]).filter(({ run }) => run);
  return (
    <div class="publish-failure" role="alert">
      <p>{failure.sentence}</p>
      <div class="publish-actions">
        {buttons.map(({ label, run }, index) => (
          <button
            type="button"
            key={label}
            ref={index === 0 ? first : null}
            class={index === 0 ? "primary" : undefined}
            onClick={run}
          >
            {label}
          </button>
        ))}
      </div>
    </div>
  );
}
