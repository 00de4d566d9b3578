/** Sales by day in UTC, for the chart. */

interface SaleAmount {
  /** ISO 8601. */
  readonly at: string;
  /** In wei. */
  readonly price: string;
}

export interface Day {
  /** `2026-11-16`, in UTC. */
  readonly day: string;
  readonly sales: number;
  readonly earned: bigint;
}

/** Days of a period, including today; null means all time. */
export const PERIODS = [30, 90, null] as const;

export type Period = (typeof PERIODS)[number];

const DAY = 86_400_000;

/** The maximum number of days in a chart of all time. */
const MOST_DAYS = 1100;

const dayOf = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 10);

/** The start of a period that ends now, in milliseconds; null means the beginning. */
export function startOf(period: Period, now: number): number | null {
  return period === null ? null : (Math.floor(now / DAY) - period + 1) * DAY;
}

const earliestOf = (now: number): number => (Math.floor(now / DAY) - MOST_DAYS + 1) * DAY;

/** The first day of a chart of all time that leaves out earlier sales; null if it has them all. */
export function cutBefore(
  sales: readonly SaleAmount[],
  period: Period,
  now: number,
): string | null {
  const earliest = earliestOf(now);
  const isCut = period === null && sales.some(({ at }) => Date.parse(at) < earliest);
  return isCut ? dayOf(earliest) : null;
}

/** Every day from the first to today, including days without a sale. */
export function salesByDay(sales: readonly SaleAmount[], period: Period, now: number): Day[] {
  const oldest = sales.reduce((first, { at }) => Math.min(first, Date.parse(at)), now);
  const first = Math.max(Math.floor(oldest / DAY) * DAY, earliestOf(now));
  const from = startOf(period, now) ?? first;
  const days = new Map<string, { sales: number; earned: bigint }>();
  for (let time = from; time <= now; time += DAY) days.set(dayOf(time), { sales: 0, earned: 0n });
  for (const { at, price } of sales) {
    const day = days.get(dayOf(Date.parse(at)));
    if (!day) continue;
    day.sales += 1;
    day.earned += BigInt(price);
  }
  return [...days].map(([day, sums]) => ({ day, ...sums }));
}

/** Whether sales, the newest first, reach back to the start of a period. */
export function covers(
  sales: readonly SaleAmount[],
  isComplete: boolean,
  period: Period,
  now: number,
): boolean {
  if (isComplete) return true;
  const from = startOf(period, now);
  const last = sales.at(-1);
  return from !== null && last !== undefined && Date.parse(last.at) < from;
}
