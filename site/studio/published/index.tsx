/** An author's own posts, page by page, including those that readers do not see in lists. */

import type { MeasureRecord, OwnPost } from "imprint-press";
import { useEffect, useState } from "preact/hooks";
import { day } from "../../page/format.ts";
import { imprint } from "../../page/service.ts";
import { type Account, explain } from "../../wallet/index.ts";
import { FailureNote } from "../failure-note.tsx";
import { OwnPostLine } from "./own-post.tsx";
import { WORDS } from "./words.ts";

interface Props {
  by: Account;
  heading: string;
}

export function Published({ by, heading }: Props) {
  const [posts, setPosts] = useState<readonly OwnPost[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const load = (token?: string) => {
    setFailure(null);
    imprint
      .listOwnPosts({ limit: 10 })
      .page(token)
      .then(
        ({ items, nextPageToken }) => {
          setPosts((before) => (token ? [...before, ...items] : items));
          setNext(nextPageToken);
        },
        (error) => setFailure(explain(error).sentence),
      );
  };
  useEffect(() => load(), []);
  const changed = (post: OwnPost) =>
    setPosts((before) => before.map((each) => (each.id === post.id ? post : each)));
  return (
    <>
      <MeasuresOnAuthor />
      {(posts.length > 0 || failure) && (
        <section class="published" aria-labelledby="published-heading">
          <h2 id="published-heading">{heading}</h2>
          <ul class="draft-list">
            {posts.map((post) => (
              <li key={post.id} class="own-post">
                <OwnPostLine by={by} post={post} onChanged={changed} />
              </li>
            ))}
          </ul>
          {failure && (
            <FailureNote
              sentence={WORDS.postsNotLoaded(failure)}
              onRetry={() => load(next ?? undefined)}
            />
          )}
          {next !== null && !failure && (
            <button type="button" class="more" onClick={() => load(next)}>
              {WORDS.showMorePosts}
            </button>
          )}
        </section>
      )}
    </>
  );
}

/** The operator's decisions about the author as a whole, with the reasons given. */
function MeasuresOnAuthor() {
  const [measures, setMeasures] = useState<readonly MeasureRecord[]>([]);
  // The list of posts says if the service cannot be reached.
  useEffect(() => void imprint.listMeasures().then(setMeasures, () => {}), []);
  const own = measures.filter(({ postId }) => postId === null);
  if (own.length === 0) return null;
  return (
    <ul class="studio-note warn">
      {own.map(({ measure, since, statement }) => (
        <li key={measure}>
          {WORDS.onAuthor[measure](day(since))} {statement && WORDS.operatorSays(statement)}
        </li>
      ))}
    </ul>
  );
}
