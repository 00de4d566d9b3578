/** The author's posts with their sales and prices, page by page. */

import type { Post } from "imprint-press";
import { useEffect, useState } from "preact/hooks";
import { coin, count, day } from "../../page/format.ts";
import { imprint } from "../../page/service.ts";
import { type Account, explain } from "../../wallet/index.ts";
import { isPriceChanging, PriceForm } from "./price-form.tsx";
import { type PriceHistory, readPriceHistory } from "./price-history.ts";

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
                <History key={post.price} by={by} post={post} />
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

/** The price changes of a post, read from the chain on demand. */
function History({ by, post }: { by: Account; post: Post }) {
  const [history, setHistory] = useState<PriceHistory | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const read = () => {
    setFailure(null);
    readPriceHistory(by.provider, imprint.facts.chain.marketplace, post).then(setHistory, (error) =>
      setFailure(explain(error).sentence),
    );
  };
  if (!history) {
    return (
      <div>
        {failure && <p role="alert">{failure}</p>}
        <button type="button" onClick={read}>
          {failure ? "Try again" : "Show price changes"}
        </button>
      </div>
    );
  }
  return (
    <div role="status">
      {history.changes.length === 0 ? (
        <p>The price has not changed{history.since > post.block.number && " lately"}.</p>
      ) : (
        <ul class="income-changes">
          {history.changes.map(({ block, at, from, to }, index) => (
            <li key={`${block} ${index}`}>
              {priceText(from)} → {priceText(to)}
              <span>
                {at && <time datetime={at}>{day(at)}, </time>}
                block {block}
              </span>
            </li>
          ))}
        </ul>
      )}
      {history.since > post.block.number && (
        <p>Your node shows changes since block {history.since} only.</p>
      )}
    </div>
  );
}
