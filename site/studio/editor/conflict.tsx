/** Two versions of one draft side by side, and the choice between them. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { StorageFull } from "../../page/database.ts";
import { moment } from "../../page/format.ts";
import { explain } from "../../wallet/index.ts";
import type { Theirs } from "../saves/save-state.ts";
import { withoutPictures } from "../store/draft-text.ts";
import { WORDS } from "../words.ts";
import { diffTexts, type Piece, type Row } from "./diff.ts";

interface ConflictProps {
  readonly mine: string;
  readonly theirs: Theirs;
  onKeepMine(): Promise<void>;
  onTakeTheirs(): Promise<void>;
  onKeepBoth(): Promise<void>;
}

/** Lines of context shown around a change. */
const CONTEXT = 3;

export function Conflict({ mine, theirs, onKeepMine, onTakeTheirs, onKeepBoth }: ConflictProps) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const rows = useMemo(
    () => shorten(diffTexts(withoutPictures(mine), withoutPictures(theirs.content))),
    [mine, theirs],
  );
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
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it */}
      <section class="versions" aria-label={WORDS.bothVersions} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{WORDS.yours}</th>
              <th scope="col">{WORDS.otherVersion}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) =>
              row === null ? (
                <tr class="version-gap">
                  <td colSpan={2}>…</td>
                </tr>
              ) : (
                <tr>
                  <Side pieces={row.left} isMine />
                  <Side pieces={row.right} />
                </tr>
              ),
            )}
          </tbody>
        </table>
      </section>
    </section>
  );
}

const sentenceOf = (error: unknown): string =>
  error instanceof StorageFull
    ? WORDS.browserNoSpaceSet
    : WORDS.nothingChanged(explain(error).sentence);

function Side({ pieces, isMine = false }: { pieces: readonly Piece[] | null; isMine?: boolean }) {
  if (!pieces) return <td class="version-none" />;
  const Mark = isMine ? "ins" : "mark";
  return (
    <td>
      {pieces.map(({ text, isChanged }) => (isChanged ? <Mark>{text || "\u00b6"}</Mark> : text))}
    </td>
  );
}

/** Leave out long unchanged stretches; null marks one. */
function shorten(rows: readonly Row[]): (Row | null)[] {
  const isChanged = ({ left, right }: Row): boolean =>
    left === null || right === null || [...left, ...right].some((piece) => piece.isChanged);
  const near = new Set<number>();
  rows.forEach((row, index) => {
    if (!isChanged(row)) return;
    for (let at = index - CONTEXT; at <= index + CONTEXT; at += 1) near.add(at);
  });
  const shown: (Row | null)[] = [];
  rows.forEach((row, index) => {
    if (near.has(index)) shown.push(row);
    else if (shown.at(-1) !== null) shown.push(null);
  });
  return shown;
}
