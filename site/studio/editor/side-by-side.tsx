/** Two versions of a text side by side, with what differs. */

import { useMemo } from "preact/hooks";
import { withoutPictures } from "../store/draft-text.ts";
import { WORDS } from "../words.ts";
import { diffTexts, type Piece, type Row } from "./diff.ts";

interface SideBySideProps {
  readonly left: string;
  readonly right: string;
  /** The headings of both versions. */
  readonly names: readonly [string, string];
}

/** Lines of context shown around a change. */
const CONTEXT = 3;

export function SideBySide({ left, right, names }: SideBySideProps) {
  const rows = useMemo(
    () => shorten(diffTexts(withoutPictures(left), withoutPictures(right))),
    [left, right],
  );
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it */}
      <section class="versions" aria-label={WORDS.bothVersions} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{names[0]}</th>
              <th scope="col">{names[1]}</th>
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
                  <Side pieces={row.left} isNew />
                  <Side pieces={row.right} />
                </tr>
              ),
            )}
          </tbody>
        </table>
      </section>
    </>
  );
}

function Side({ pieces, isNew = false }: { pieces: readonly Piece[] | null; isNew?: boolean }) {
  if (!pieces) return <td class="version-none" />;
  const Mark = isNew ? "ins" : "mark";
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
