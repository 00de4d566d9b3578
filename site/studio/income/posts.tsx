/** The author's posts with their sales and prices, page by page. */

import type { MeasureRecord, Post } from "imprint-press";
import { useEffect, useState } from "preact/hooks";
import { coin, count, day } from "../../page/format.ts";
import { imprint } from "../../page/service.ts";
import { type Account, explain } from "../../wallet/index.ts";
import { isPriceChanging, PriceForm } from "./price-form.tsx";

const priceText = (wei: string): string => (wei === "0" ? "free" : coin(wei));

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
      <h2 id="income-posts">Posts</h2>
      <Measures />
      <ul>
        {posts.map((post) => (
          <li key={post.id} class="income-post">
            <a class="income-title" href={`/p/${post.id}`}>
              {post.title || "Untitled"}
            </a>
            <p>
              {count(post.sales.count, "sale")} · {coin(post.sales.volume)} · now{" "}
              {priceText(post.price)}
              {post.firstPrice !== post.price && `, first ${priceText(post.firstPrice)}`} · since{" "}
              {day(post.createdAt)}
            </p>
            <details open={isPriceChanging(by, post)}>
              <summary>Price</summary>
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
          {failure ? "Try again" : "Show more posts"}
        </button>
      )}
    </section>
  );
}

const MEASURES: Readonly<Record<string, string>> = {
  refused: "The operator does not accept new writing from you",
  unlisted: "is not in any list",
  withheld: "is not shown to anybody",
};

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
          {measure !== "refused" && (postId === null ? "Your writing " : `Post ${postId} `)}
          {MEASURES[measure]} since {day(since)}.{statement && ` ${statement}`}
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
          {failure ? "Try again" : "Show price history"}
        </button>
      </div>
    );
  }
  return (
    <div role="status">
      {prices.length === 1 && <p>The price has not changed.</p>}
      <ul class="income-prices">
        {prices.map(({ price, since }, index) => (
          <li key={`${since} ${index}`}>
            {priceText(price)} <time datetime={since}>since {day(since)}</time>
          </li>
        ))}
      </ul>
      {oldest.since !== post.createdAt && <p>Prices before these are not shown.</p>}
    </div>
  );
}
