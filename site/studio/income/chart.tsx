/** Earnings by day as a bar chart, readable by keyboard point by point, with a table. */

import { useState } from "preact/hooks";
import { coin, day as longDay } from "../../page/format.ts";
import { WORDS } from "../words.ts";
import type { Day } from "./days.ts";

const WIDTH = 720;
const HEIGHT = 200;
const FLOOR = 24;
const CEILING = 8;

/** The height of a bar; even the smallest sale is visible. */
function heightOf(earned: bigint, most: bigint): number {
  if (earned === 0n) return 0;
  const share = Number((earned * 10_000n) / most) / 10_000;
  return Math.max(2, share * (HEIGHT - FLOOR - CEILING));
}

const spoken = ({ day, sales, earned }: Day): string =>
  `${longDay(`${day}T12:00:00Z`)}: ${coin(earned)}, ${WORDS.saleCount(sales)}`;

export function Chart({ days }: { days: readonly Day[] }) {
  const [at, setAt] = useState<number | null>(null);
  const most = days.reduce((high, { earned }) => (earned > high ? earned : high), 1n);
  const step = WIDTH / days.length;
  const shown = at === null ? null : (days[Math.min(at, days.length - 1)] ?? null);
  const read = (event: KeyboardEvent) => {
    const last = days.length - 1;
    const from = at ?? last;
    const moves: Record<string, number> = {
      ArrowLeft: from - 1,
      ArrowRight: from + 1,
      PageUp: from - 7,
      PageDown: from + 7,
      Home: 0,
      End: last,
    };
    const next = moves[event.key];
    if (next === undefined) return;
    event.preventDefault();
    setAt(Math.min(Math.max(next, 0), last));
  };
  return (
    <figure class="income-chart">
      <div
        class="income-plot"
        role="slider"
        // Arrow keys move from day to day.
        tabIndex={0}
        aria-label={WORDS.earningsDay}
        aria-valuemin={0}
        aria-valuemax={days.length - 1}
        aria-valuenow={at ?? days.length - 1}
        aria-valuetext={shown ? spoken(shown) : WORDS.useArrowKeysMove}
        onKeyDown={read}
        onFocus={() => setAt(at ?? days.length - 1)}
        onPointerMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const across = (event.clientX - box.left) / box.width;
          setAt(Math.min(days.length - 1, Math.max(0, Math.floor(across * days.length))));
        }}
      >
        <span class="income-most" aria-hidden="true">
          {coin(most)}
        </span>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <line class="income-ceiling" x1={0} x2={WIDTH} y1={CEILING} y2={CEILING} />
          <line class="income-floor" x1={0} x2={WIDTH} y1={HEIGHT - FLOOR} y2={HEIGHT - FLOOR} />
          {days.map(({ day, earned }, index) => {
            const height = heightOf(earned, most);
            return (
              <rect
                key={day}
                class={index === at ? "income-bar chosen" : "income-bar"}
                x={index * step + step * 0.1}
                y={HEIGHT - FLOOR - height}
                width={step * 0.8}
                height={height}
              />
            );
          })}
          {at !== null && (
            <rect
              class="income-mark"
              x={at * step}
              y={HEIGHT - FLOOR + 4}
              width={Math.max(step, 2)}
              height={3}
            />
          )}
        </svg>
      </div>
      <figcaption>
        {shown ? spoken(shown) : WORDS.toToday(longDay(`${days[0]?.day}T12:00:00Z`))}
      </figcaption>
      <details>
        <summary>{WORDS.showAsTable}</summary>
        <div class="income-scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">{WORDS.day}</th>
                <th scope="col">{WORDS.sales}</th>
                <th scope="col">{WORDS.earned}</th>
              </tr>
            </thead>
            <tbody>
              {days
                .filter(({ sales }) => sales > 0)
                .map(({ day, sales, earned }) => (
                  <tr key={day}>
                    <th scope="row">{day}</th>
                    <td>{sales}</td>
                    <td>{coin(earned)}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}
