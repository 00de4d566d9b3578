/** Two versions of one draft side by side, and the choice between them. */

import { useEffect, useRef, useState } from "preact/hooks";
import { StorageFull } from "../../page/database.ts";
import { moment } from "../../page/format.ts";
import { explain } from "../../wallet/index.ts";
import type { Theirs } from "../saves/save-state.ts";
import { WORDS } from "../words.ts";
import { Differences } from "./differences.tsx";

interface ConflictProps {
  readonly mine: string;
  readonly theirs: Theirs;
  onKeepMine(): Promise<void>;
  onTakeTheirs(): Promise<void>;
  onKeepBoth(): Promise<void>;
}

export function Conflict({ mine, theirs, onKeepMine, onTakeTheirs, onKeepBoth }: ConflictProps) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const choose = (act: () => Promise<void>) => async () => {
    setBusy(true);
    setFailure(null);
    try {
      await act();
    } catch (error) {
      setFailure(sentenceOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <section class="conflict" aria-labelledby="conflict-heading">
      <h2 id="conflict-heading" tabIndex={-1} ref={heading}>
        {WORDS.draftAlsoSavedElsewhere}
      </h2>
      <p>{WORDS.anotherTabOrComputer(moment(theirs.savedAt))}</p>
      <div class="conflict-choices">
        <button type="button" disabled={isBusy} onClick={choose(onKeepMine)}>
          {WORDS.keepMine}
          <small>{WORDS.becomesNewVersion}</small>
        </button>
        <button type="button" disabled={isBusy} onClick={choose(onTakeTheirs)}>
          {WORDS.useOtherVersion}
          <small>{WORDS.yoursStaysBrowser}</small>
        </button>
        <button type="button" disabled={isBusy} onClick={choose(onKeepBoth)}>
          {WORDS.keepBoth}
          <small>{WORDS.yoursSavedAsNew}</small>
        </button>
      </div>
      {failure && (
        <p class="studio-note bad" role="alert">
          {failure}
        </p>
      )}
      <Differences
        label={WORDS.bothVersions}
        left={mine}
        right={theirs.content}
        leftName={WORDS.yours}
        rightName={WORDS.otherVersion}
      />
    </section>
  );
}

const sentenceOf = (error: unknown): string =>
  error instanceof StorageFull
    ? WORDS.browserNoSpaceSet
    : WORDS.nothingChanged(explain(error).sentence);
