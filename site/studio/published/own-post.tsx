/** One of the author's own posts: its state, price, sales and readers, and what can be done. */

import type { MeasureRecord, OwnPost, Post } from "imprint-press";
import { useState } from "preact/hooks";
import { copyText } from "../../page/clipboard.ts";
import { coin, day, moment, pagePath } from "../../page/format.ts";
import { notify } from "../../page/notices.ts";
import { actionsOf, type PostState, stateOf, studioAddress } from "../../page/own-post.ts";
import { imprint } from "../../page/service.ts";
import { type Account, explain } from "../../wallet/index.ts";
import { go } from "../routes.ts";
import { WORDS as STUDIO_WORDS } from "../words.ts";
import { continueInNewDraft } from "./continuation.tsx";

import { isPriceChanging, PriceForm } from "./price-form.tsx";
import { WORDS } from "./words.ts";

const STATES: Readonly<Record<PostState, string>> = {
  published: STUDIO_WORDS.published,
  unlisted: WORDS.unlisted,
  withheld: WORDS.withheld,
  elsewhere: WORDS.notStoredHere,
};

const priceText = (wei: string): string => (wei === "0" ? STUDIO_WORDS.priceFree : coin(wei));

export interface OwnPostProps {
  by: Account;
  post: OwnPost;
  /** Whether the price form is open at first. */
  isOpen?: boolean;
  onChanged(post: OwnPost): void;
}

export function OwnPostLine({ by, post, isOpen = false, onChanged }: OwnPostProps) {
  const state = stateOf(post);
  const { hasPage, canChangePrice } = actionsOf(post, imprint.facts.features);
  const titleId = `own-post-${post.id}`;
  const title =
    post.title || (state === "withheld" ? WORDS.postNumber(post.id) : STUDIO_WORDS.untitled);
  const { price, firstPrice, sales, holders, createdAt } = post;
  return (
    <>
      {hasPage ? (
        <a class="draft-title" id={titleId} href={pagePath(post)}>
          {title}
        </a>
      ) : (
        <span class="draft-title" id={titleId}>
          {title}
        </span>
      )}
      <p class="draft-facts">
        <span class="draft-state" data-state={state}>
          {STATES[state]}
        </span>
        <span>
          {price === firstPrice
            ? priceText(price)
            : WORDS.nowFirst(priceText(price), priceText(firstPrice))}
        </span>
        <span>{WORDS.saleCount(sales.count)}</span>
        {sales.count > 0 && <span>{WORDS.earned(coin(sales.volume))}</span>}
        <span>{WORDS.readerCount(holders)}</span>
        <time dateTime={createdAt}>{moment(createdAt)}</time>
      </p>
      <WhyHidden state={state} measure={post.measure} />
      <Actions post={post} title={title} titleId={titleId} />
      {canChangePrice && (
        <details class="own-post-price" open={isOpen || isPriceChanging(by, post)}>
          <summary aria-describedby={titleId}>{STUDIO_WORDS.changePrice}</summary>
          <div class="income-price">
            <PriceForm
              by={by}
              post={post}
              onChanged={(changed) => onChanged({ ...changed, measure: post.measure })}
            />
            <History key={post.price} post={post} />
          </div>
        </details>
      )}
    </>
  );
}

/** Why readers do not find a post, in the operator's words where there are any. */
function WhyHidden({ state, measure }: { state: PostState; measure: MeasureRecord | null }) {
  if (state === "elsewhere") return <p class="own-post-why">{WORDS.notStoredWhy}</p>;
  if (!measure) return null;
  const since = day(measure.since);
  return (
    <p class="own-post-why">
      {state === "withheld" ? WORDS.withheldSince(since) : WORDS.unlistedSince(since)}{" "}
      {measure.statement && WORDS.operatorSays(measure.statement)}
    </p>
  );
}

function Actions({ post, title, titleId }: { post: OwnPost; title: string; titleId: string }) {
  const [isBusy, setBusy] = useState(false);
  const { hasPage, canCorrect, canContinue } = actionsOf(post, imprint.facts.features);
  if (!hasPage) return null;
  const tell = (error: unknown) => notify({ kind: "bad", text: explain(error).sentence });
  const copy = () =>
    copyText(post.links.page).then(
      () => notify({ kind: "good", text: STUDIO_WORDS.linkCopied }),
      tell,
    );
  const continueIt = async () => {
    setBusy(true);
    try {
      go({ view: "draft", key: await continueInNewDraft(post.id, title) });
    } catch (error) {
      setBusy(false);
      tell(error);
    }
  };
  return (
    <p class="own-post-actions">
      <button type="button" aria-describedby={titleId} onClick={() => void copy()}>
        {WORDS.copyLink}
      </button>
      {canCorrect && (
        <a class="button" aria-describedby={titleId} href={studioAddress("correct", post.id)}>
          {WORDS.correct}
        </a>
      )}
      {canContinue && (
        <button
          type="button"
          aria-describedby={titleId}
          disabled={isBusy}
          onClick={() => void continueIt()}
        >
          {WORDS.continueInNewDraft}
        </button>
      )}
    </p>
  );
}

/** The latest prices of a post, which are loaded when the author asks for them. */
function History({ post }: { post: Post }) {
  const [prices, setPrices] = useState(post.priceHistory ?? []);
  const [failure, setFailure] = useState<string | null>(null);
  const load = () => {
    setFailure(null);
    imprint.showPost(post.id).then(
      ({ priceHistory = [] }) => setPrices(priceHistory),
      (error) => setFailure(explain(error).sentence),
    );
  };
  const oldest = prices.at(-1);
  if (!oldest) {
    return (
      <div>
        {failure && <p role="alert">{failure}</p>}
        <button type="button" onClick={load}>
          {failure ? STUDIO_WORDS.tryAgain : WORDS.showPriceHistory}
        </button>
      </div>
    );
  }
  return (
    <div role="status">
      {prices.length === 1 && <p>{WORDS.priceHasntChanged}</p>}
      <ul class="income-prices">
        {prices.map(({ price, since }, index) => (
          <li key={`${since} ${index}`}>
            {priceText(price)} <time datetime={since}>{WORDS.since(day(since))}</time>
          </li>
        ))}
      </ul>
      {oldest.since !== post.createdAt && <p>{WORDS.olderPricesArentShown}</p>}
    </div>
  );
}
