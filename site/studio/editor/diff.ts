/** The differences between two texts: lines first, then words within changed lines. */

export interface Piece {
  readonly text: string;
  readonly isChanged: boolean;
}

/** A row of both texts side by side; null if one of them has no such line. */
export interface Row {
  readonly left: readonly Piece[] | null;
  readonly right: readonly Piece[] | null;
}

type Step<T> = { readonly left: T | null; readonly right: T | null };

/**
 * The maximum number of comparisons: above it, everything between the first and the last difference
 * is shown as changed.
 */
const MOST_CELLS = 4_000_000;

/** Both texts side by side, line by line. */
export function diffTexts(left: string, right: string): Row[] {
  const steps = align(left.split("\n"), right.split("\n"));
  const rows: Row[] = [];
  for (let index = 0; index < steps.length; ) {
    const step = steps[index];
    if (step && step.left !== null && step.right !== null) {
      const piece = [{ text: step.left, isChanged: false }];
      rows.push({ left: piece, right: piece });
      index += 1;
      continue;
    }
    const removed: string[] = [];
    const added: string[] = [];
    for (; index < steps.length; index += 1) {
      const each = steps[index];
      if (!each || (each.left !== null && each.right !== null)) break;
      if (each.left !== null) removed.push(each.left);
      if (each.right !== null) added.push(each.right);
    }
    rows.push(...pair(removed, added));
  }
  return rows;
}

/** Pair removed lines with the lines that replaced them. */
function pair(removed: readonly string[], added: readonly string[]): Row[] {
  return Array.from({ length: Math.max(removed.length, added.length) }, (_, index) => {
    const before = removed[index];
    const after = added[index];
    if (before === undefined) return { left: null, right: whole(after ?? "") };
    if (after === undefined) return { left: whole(before), right: null };
    return diffWords(before, after);
  });
}

const whole = (text: string): Piece[] => [{ text, isChanged: true }];

function diffWords(left: string, right: string): Row {
  const steps = align(words(left), words(right));
  const kept = steps.filter((step) => step.left?.trim() && step.right !== null).length;
  // Lines with next to nothing in common are different lines, not changed ones.
  if (kept * 4 < Math.min(words(left).length, words(right).length) / 2)
    return { left: whole(left), right: whole(right) };
  return { left: pieces(steps, "left"), right: pieces(steps, "right") };
}

const words = (line: string): string[] => line.match(/\s+|[\p{L}\p{N}\p{M}'’]+|./gu) ?? [];

function pieces(steps: readonly Step<string>[], side: "left" | "right"): Piece[] {
  const found: { text: string; isChanged: boolean }[] = [];
  for (const step of steps) {
    const text = step[side];
    if (text === null) continue;
    const isChanged = step.left === null || step.right === null;
    const last = found.at(-1);
    if (last?.isChanged === isChanged) last.text += text;
    else found.push({ text, isChanged });
  }
  return found;
}

/** The longest common subsequence of both, and the parts that only one of them has. */
function align<T>(left: readonly T[], right: readonly T[]): Step<T>[] {
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let end = 0;
  const most = Math.min(left.length, right.length) - start;
  while (end < most && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1;
  const middle = alignMiddle(
    left.slice(start, left.length - end),
    right.slice(start, right.length - end),
  );
  const same = (each: T): Step<T> => ({ left: each, right: each });
  return [...left.slice(0, start).map(same), ...middle, ...left.slice(left.length - end).map(same)];
}

function alignMiddle<T>(left: readonly T[], right: readonly T[]): Step<T>[] {
  const removed = (each: T): Step<T> => ({ left: each, right: null });
  const added = (each: T): Step<T> => ({ left: null, right: each });
  if (left.length * right.length > MOST_CELLS || !left.length || !right.length)
    return [...left.map(removed), ...right.map(added)];
  const width = right.length + 1;
  const lengths = new Uint16Array((left.length + 1) * width);
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = left.length - 1; row >= 0; row -= 1) {
    for (let column = right.length - 1; column >= 0; column -= 1) {
      lengths[row * width + column] =
        left[row] === right[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const steps: Step<T>[] = [];
  let row = 0;
  let column = 0;
  while (row < left.length && column < right.length) {
    const one = left[row] as T;
    const other = right[column] as T;
    if (one === other) {
      steps.push({ left: one, right: other });
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) {
      steps.push(removed(one));
      row += 1;
    } else {
      steps.push(added(other));
      column += 1;
    }
  }
  return [...steps, ...left.slice(row).map(removed), ...right.slice(column).map(added)];
}
