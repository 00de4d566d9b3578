/** What an author can see and do about a post of their own. */

import type { OwnPost } from "imprint-press";

/** `elsewhere`: the chain has the post, but its text is not stored here. */
export type PostState = "published" | "unlisted" | "withheld" | "elsewhere";

type Facts = Pick<OwnPost, "hosted" | "measure">;

/** Where the Studio corrects a post, changes its price, or continues it in a new draft. */
export const studioAddress = (view: "correct" | "post" | "continue", postId: string): string =>
  `/studio#/${view}/${encodeURIComponent(postId)}`;

export function stateOf({ hosted, measure }: Facts): PostState {
  if (measure?.measure === "withheld" || measure?.measure === "unlisted") return measure.measure;
  return hosted ? "published" : "elsewhere";
}

export interface PostActions {
  readonly hasPage: boolean;
  readonly canCorrect: boolean;
  readonly canChangePrice: boolean;
  readonly canContinue: boolean;
}

/** What the author can do, on a service with these features. A withheld post has no page or text. */
export function actionsOf(post: Facts, features: readonly string[]): PostActions {
  const isReadable = stateOf(post) !== "withheld";
  const hasText = isReadable && post.hosted;
  return {
    hasPage: isReadable,
    canCorrect: hasText && features.includes("revisions"),
    canChangePrice: isReadable,
    canContinue: hasText,
  };
}
