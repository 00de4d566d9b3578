/** The author's posts with their sales and prices, page by page. */

import type { MeasureRecord, Post } from "imprint-press";
import { useEffect, useState } from "preact/hooks";
import { coin, day, pagePath } from "../../page/format.ts";
import { imprint } from "../../page/service.ts";
import { type Account, explain } from "../../wallet/index.ts";
import { WORDS } from "../words.ts";
import { isPriceChanging, PriceForm } from "./price-form.tsx";

const priceText = (wei: string): string => (wei === "0" ? WORDS.priceFree : coin(wei));

function summaryOf({ sales, price, firstPrice, createdAt }: Post): string {
  const [sold, earned] = [WORDS.saleCount(sales.count), coin(sales.volume)];
  const [now, since] = [priceText(price), day(createdAt)];
  return firstPrice === price
    ? WORDS.pricedSince(sold, earned, now, since)
    : WORDS.repricedSince(sold, earned, now, priceText(firstPrice), since);
}

export function Posts({ by }: { by: Account }) {
  const [posts, setPosts] = useState<readonly Post[]>([]);
  const [next, setNext] = useState<string | null | undefined>(undefined);
  const [failure, setFailure] = useState<string | null>(null);
  const load = async (token?: string) => {
    try {
      setFailure(null);
      const page = await imprint.listIndexedPosts({ author: by.address }).page(token);
      setPosts((before) => (token ? [...before, ...page.items] : page.items));
      setNext(page.nextPageToken);
    } catch (error) {
      setFailure(explain(error).sentence);
    }
  };
  useEffect(() => void load(), [by.address]);
  const changed = (post: Post) =>
    setPosts((before) => before.map((each) => (each.id === post.id ? post : each)));
  return (
    <section class="income-posts" aria-labelledby="income-posts">
      <h2 id="income-posts">{WORDS.posts}</h2>
      <Measures />
      <ul>
        {posts.map((post) => (
          <li key={post.id} class="income-post">
            <a class="income-title" href={pagePath(post)}>
              {post.title || WORDS.untitled}
            </a>
            <p>{summaryOf(post)}</p>
            <details open={isPriceChanging(by, post)}>
              <summary>{WORDS.price}</summary>
              <div class="income-price">
                <PriceForm by={by} post={post} onChanged={changed} />
                <History key={post.price} post={post} />
              </div>
            </details>
          </li>
        ))}
      </ul>
      {failure && <p role="alert">{failure}</p>}
      {(next || failure) && (
        <button type="button" onClick={() => void load(next ?? undefined)}>
          {failure ? WORDS.tryAgain : WORDS.showMorePosts}
        </button>
      )}
    </section>
  );
}

/** What the operator decided about the author's posts, with the reason given. */
function Measures() {
  const [measures, setMeasures] = useState<readonly MeasureRecord[]>([]);
  // The list of posts says if the service cannot be reached.
  useEffect(() => void imprint.listMeasures().then(setMeasures, () => {}), []);
  if (measures.length === 0) return null;
  return (
    <ul class="studio-note">
      {measures.map(({ postId, measure, since, statement }) => (
        <li key={`${postId} ${measure}`}>
          {WORDS.measures[measure](
            day(since),
            postId === null ? WORDS.allYourWriting : WORDS.postNumber(postId),
          )}
          {statement && ` ${statement}`}
        </li>
      ))}
    </ul>
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
          {failure ? WORDS.tryAgain : WORDS.showPriceHistory}
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
