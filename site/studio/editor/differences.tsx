/** Two texts side by side, with their differences. */

import { useMemo } from "preact/hooks";
import { withoutPictures } from "../store/draft-text.ts";
import { diffTexts, type Piece, type Row } from "./diff.ts";

interface DifferencesProps {
  readonly label: string;
  readonly left: string;
  readonly right: string;
  readonly leftName: string;
  readonly rightName: string;
}

/** Lines of context shown around a change. */
const CONTEXT = 3;

export function Differences({ label, left, right, leftName, rightName }: DifferencesProps) {
  const rows = useMemo(
    () => shorten(diffTexts(withoutPictures(left), withoutPictures(right))),
    [left, right],
  );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
    <section class="versions" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{leftName}</th>
            <th scope="col">{rightName}</th>
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
                <Side pieces={row.left} isLeft />
                <Side pieces={row.right} />
              </tr>
            ),
          )}
        </tbody>
      </table>
    </section>
  );
}

function Side({ pieces, isLeft = false }: { pieces: readonly Piece[] | null; isLeft?: boolean }) {
  if (!pieces) return <td class="version-none" />;
  const Mark = isLeft ? "ins" : "mark";
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
