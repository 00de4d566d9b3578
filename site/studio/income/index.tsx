/** Income: an author's sales, buyers and dates. */

import type { Author, Sale } from "imprint-press";
import { useEffect, useState } from "preact/hooks";
import { coin, day, short } from "../../page/format.ts";
import { imprint } from "../../page/service.ts";
import { type Account, account, explain } from "../../wallet/index.ts";
import { FailureNote } from "../failure-note.tsx";
import { LoadedAuthor } from "../loaded-author.tsx";
import { Published } from "../published/index.tsx";
import { WORDS as POSTS_WORDS } from "../published/words.ts";
import { formatRoute } from "../routes.ts";
import { WORDS } from "../words.ts";
import { Chart } from "./chart.tsx";
import { covers, cutBefore, PERIODS, type Period, salesByDay, startOf } from "./days.ts";

/** Sales per page, the service's maximum. */
const PAGE = 50;
/** Pages that are loaded automatically. */
const PAGES_AT_ONCE = 10;
/** Sales that the list shows at first. */
const SHOWN = 10;

const NAMES: Readonly<Record<string, string>> = { 30: "30 days", 90: "90 days", null: WORDS.all };

interface Sold {
  readonly sales: readonly Sale[];
  readonly next: string | null;
}

export function IncomeView() {
  const by = account.value;
  return (
    by && (
      <LoadedAuthor key={by.address} by={by} waiting={WORDS.loadingIncome}>
        {(author) => <Income by={by} totals={author?.posts ? author : null} />}
      </LoadedAuthor>
    )
  );
}

function Income({ by, totals }: { by: Account; totals: Author | null }) {
  if (totals === null) {
    return (
      <section class="studio-empty">
        <h1>{WORDS.income}</h1>
        <p>{WORDS.haventPublishedAnythingYet}</p>
        <a href={formatRoute({ view: "drafts" })}>{WORDS.goDrafts}</a>
      </section>
    );
  }
  return (
    <div class="income">
      <h1>{WORDS.income}</h1>
      <dl class="income-totals">
        <Total name="Earned" value={coin(totals.sales.volume)} />
        <Total name="Sales" value={String(totals.sales.count)} />
        <Total name="Readers" value={String(totals.readers)} />
        <Total name="Posts" value={String(totals.posts)} />
      </dl>
      <Sales total={totals.sales.count} />
      <Published by={by} heading={POSTS_WORDS.posts} />
    </div>
  );
}

function Total({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** Load pages until they cover the period, up to the automatic limit. */
async function loadSales(known: Sold | null, period: Period): Promise<Sold> {
  const list = imprint.listSales({ limit: PAGE });
  let sold = known;
  for (let page = 0; page < PAGES_AT_ONCE; page += 1) {
    if (sold && covers(sold.sales, sold.next === null, period, Date.now())) break;
    const { items, nextPageToken } = await list.page(sold?.next ?? undefined);
    sold = { sales: [...(sold?.sales ?? []), ...items], next: nextPageToken };
  }
  return sold ?? { sales: [], next: null };
}

function Sales({ total }: { total: number }) {
  const [period, setPeriod] = useState<Period>(30);
  const [sold, setSold] = useState<Sold | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const [shown, setShown] = useState(SHOWN);
  const load = (from: Sold | null) => {
    setFailure(null);
    loadSales(from, period).then(setSold, (error) => setFailure(explain(error).sentence));
  };
  useEffect(() => load(sold), [period]);
  if (failure) {
    return <FailureNote sentence={failure} onRetry={() => load(sold)} />;
  }
  const now = Date.now();
  const isCovered = sold !== null && covers(sold.sales, sold.next === null, period, now);
  const oldest = sold?.sales.at(-1);
  const from = startOf(period, now);
  const cut = sold && cutBefore(sold.sales, period, now);
  const within = sold?.sales.filter(({ at }) => from === null || Date.parse(at) >= from) ?? [];
  const earned = within.reduce((sum, { price }) => sum + BigInt(price), 0n);
  return (
    <section class="income-sales" aria-labelledby="income-sales">
      <div class="income-head">
        <h2 id="income-sales">{WORDS.earningsDay}</h2>
        <fieldset class="income-period">
          <legend class="unseen">{WORDS.period}</legend>
          {PERIODS.map((each) => (
            <label key={String(each)}>
              <input
                type="radio"
                name="period"
                checked={period === each}
                onChange={() => setPeriod(each)}
              />
              {NAMES[String(each)]}
            </label>
          ))}
        </fieldset>
      </div>
      {sold && (
        <>
          {sold.sales.length > 0 && (
            <>
              <p>{WORDS.fromPeriod(coin(earned), WORDS.saleCount(within.length))}</p>
              <Chart days={salesByDay(sold.sales, period, now)} />
            </>
          )}
          {cut && <p class="income-partial">{WORDS.chartStartsEarlierSales(day(cut))}</p>}
          {!isCovered && oldest && (
            <p class="income-partial">
              {WORDS.chartCovers(WORDS.saleCount(sold.sales.length), total, day(oldest.at))}{" "}
              <button type="button" class="quiet" onClick={() => load(sold)}>
                {WORDS.loadMore}
              </button>
            </p>
          )}
          <Newest sales={sold.sales.slice(0, shown)} />
          {shown < sold.sales.length && (
            <button type="button" class="quiet" onClick={() => setShown(shown + PAGE)}>
              {WORDS.showMoreSales}
            </button>
          )}
          {sold.sales.length > 0 && <Download />}
        </>
      )}
    </section>
  );
}

function Newest({ sales }: { sales: readonly Sale[] }) {
  if (sales.length === 0) return <p>{WORDS.noSalesYetShare}</p>;
  return (
    <div class="income-scroll">
      <table class="income-newest">
        <caption>{WORDS.newestSales}</caption>
        <thead>
          <tr>
            <th scope="col">{WORDS.day}</th>
            <th scope="col">{WORDS.post}</th>
            <th scope="col">{WORDS.reader}</th>
            <th scope="col">{WORDS.paid}</th>
          </tr>
        </thead>
        <tbody>
          {sales.map(({ transaction, postId, title, buyer, receiver, at, price }) => (
            <tr key={`${transaction} ${postId} ${buyer} ${receiver}`}>
              <td>
                <time datetime={at}>{day(at)}</time>
              </td>
              <td>
                <a href={`/p/${postId}`}>{title || WORDS.untitled}</a>
              </td>
              <td>
                <a href={`/a/${buyer}`} title={buyer}>
                  {short(buyer)}
                </a>
                {receiver && (
                  <div class="income-gift">
                    {WORDS.giftTo}{" "}
                    <a href={`/a/${receiver}`} title={receiver}>
                      {short(receiver)}
                    </a>
                  </div>
                )}
              </td>
              <td>{coin(price)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** All sales as one table for other programs. */
function Download() {
  const [state, setState] = useState<"idle" | "loading" | { sentence: string }>("idle");
  const download = async () => {
    setState("loading");
    try {
      const table = await imprint.salesCsv();
      const address = URL.createObjectURL(new Blob([table], { type: "text/csv" }));
      const link = document.createElement("a");
      link.href = address;
      link.download = "sales.csv";
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
      setState("idle");
    } catch (error) {
      setState({ sentence: explain(error).sentence });
    }
  };
  return (
    <p>
      <button type="button" disabled={state === "loading"} onClick={download}>
        {state === "loading" ? WORDS.collectingAllSales : WORDS.downloadAllSalesCsv}
      </button>
      {typeof state === "object" && <span role="alert"> {state.sentence}</span>}
    </p>
  );
}
