/** The steps of a publication or a change of price, as they happen, and what to do if one fails. */

import { useEffect, useRef } from "preact/hooks";
import { signIn } from "../../wallet/index.ts";
import type { StepState } from "./progress.ts";
import type { Failure } from "./publication.ts";

export interface StepLine {
  readonly name: string;
  readonly state: StepState;
  /** What happens in this step, shown while it is the present one. */
  readonly note: string;
}

interface Props {
  steps: readonly StepLine[];
  failure: Failure | null;
  isRunning: boolean;
  /** Of the button when nothing runs and nothing failed, as after a reload. */
  continueLabel: string;
  onContinue(): void;
  onAskAgain?(): void;
  onNewVersion?(): void;
  onEdit?(): void;
}

const SPOKEN: Readonly<Record<StepState, string>> = {
  ahead: "not yet",
  now: "now",
  failed: "stopped",
  done: "done",
};

export function Steps(props: Props) {
  const { steps, failure, isRunning, continueLabel, onContinue } = props;
  const isDone = steps.every(({ state }) => state === "done");
  return (
    <div class="steps">
      <ol class="steps-list" aria-live="polite">
        {steps.map(({ name, state, note }) => (
          <li
            key={name}
            class="step"
            data-state={state}
            aria-current={state === "now" ? "step" : undefined}
          >
            <span class="step-name">
              {name}
              <span class="unseen">: {SPOKEN[state]}</span>
            </span>
            {state === "now" && isRunning && <p class="step-note">{note}</p>}
          </li>
        ))}
      </ol>
      {failure && <FailureNote {...props} failure={failure} />}
      {!failure && !isRunning && !isDone && (
        <button type="button" class="primary" onClick={onContinue}>
          {continueLabel}
        </button>
      )}
    </div>
  );
}

function FailureNote(props: Props & { failure: Failure }) {
  const { failure, onContinue, onAskAgain, onNewVersion, onEdit } = props;
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), [failure]);
  const known: Record<
    Failure["actions"][number],
    { label: string; run?: (() => void) | undefined }
  > = {
    retry: { label: "Try again", run: onContinue },
    "ask-again": { label: "Ask the wallet again", run: onAskAgain },
    "new-version": { label: "Save as a new version", run: onNewVersion },
    "sign-in": { label: "Sign in", run: () => void signIn().then(onContinue, () => undefined) },
    edit: { label: "Back to the form", run: onEdit },
  };
  const buttons = failure.actions.map((action) => known[action]).filter(({ run }) => run);
  return (
    <div class="steps-failure" role="alert">
      <p>{failure.sentence}</p>
      <div class="steps-actions">
        {buttons.map(({ label, run }, index) => (
          <button
            type="button"
            key={label}
            ref={index === 0 ? first : null}
            class={index === 0 ? "primary" : "quiet"}
            onClick={run}
          >
            {label}
          </button>
        ))}
      </div>
    </div>
  );
}
