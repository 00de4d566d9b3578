/** One post of the author, as linked from its page. */

import type { OwnPost } from "imprint-press";
import { useEffect, useState } from "preact/hooks";
import { imprint } from "../../page/service.ts";
import { account, explain } from "../../wallet/index.ts";
import { FailureNote } from "../failure-note.tsx";
import { OwnPostLine } from "./own-post.tsx";
import { WORDS } from "./words.ts";

async function loadOwnPost(id: string): Promise<OwnPost> {
  const [post, measures] = await Promise.all([imprint.showPost(id), imprint.listMeasures()]);
  const hiding = measures.filter(({ measure }) => measure !== "refused");
  const measure = hiding.find(({ postId }) => postId === id) ?? null;
  return { ...post, measure: measure ?? hiding.find(({ postId }) => postId === null) ?? null };
}

export function PostView({ postId }: { postId: string }) {
  const [post, setPost] = useState<OwnPost | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const by = account.value;
  const load = () => {
    setFailure(null);
    loadOwnPost(postId).then(setPost, (error) => setFailure(explain(error).sentence));
  };
  useEffect(load, [by?.address]);
  if (failure) return <FailureNote sentence={failure} onRetry={load} />;
  if (!post || !by) return <p role="status">{WORDS.openingPost}</p>;
  if (post.author.toLowerCase() !== by.address.toLowerCase())
    return (
      <p class="studio-empty" role="status">
        {WORDS.notYours}
      </p>
    );
  return (
    <section class="drafts" aria-labelledby="post-heading">
      <h1 id="post-heading" class="unseen">
        {post.title || WORDS.postNumber(post.id)}
      </h1>
      <div class="own-post">
        <OwnPostLine by={by} post={post} isOpen onChanged={setPost} />
      </div>
    </section>
  );
}
