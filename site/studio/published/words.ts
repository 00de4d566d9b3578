/** The sentences about an author's own posts. A translation is another such object. */

import { count } from "../../page/words.ts";

export const WORDS = {
  saleCount: (sales: number) => count(sales, "sale"),
  readerCount: (readers: number) => count(readers, "reader"),
  posts: "Posts",
  showMorePosts: "Show more posts",
  unlisted: "Unlisted",
  withheld: "Withheld",
  notStoredHere: "Not stored here",
  nowFirst: (now: string, first: string) => `now ${now}, first ${first}`,
  earned: (amount: string) => `${amount} earned`,
  copyLink: "Copy link",
  correct: "Correct",
  continueInNewDraft: "Continue in a new draft",
  continues: (title: string) => `Continues “${title}”`,
  showPriceHistory: "Show price history",
  priceHasntChanged: "The price hasn’t changed.",
  since: (since: string) => `since ${since}`,
  olderPricesArentShown: "Older prices aren’t shown.",
  postNumber: (id: string) => `Post ${id}`,
  postsNotLoaded: (sentence: string) => `Your posts couldn’t be loaded. ${sentence}`,
  openingPost: "Opening your post…",
  openingNewDraft: "Opening a new draft…",
  notYours: "This post belongs to another account. Switch to its author’s account to change it.",
  unlistedSince: (since: string) =>
    `Not listed since ${since}. Its page still works for anyone with the link.`,
  withheldSince: (since: string) => `Withheld from everyone since ${since}, including its owners.`,
  notStoredWhy:
    "This post is on the chain, but its text isn’t stored on this site, so the site doesn’t list it.",
  onAuthor: {
    refused: (since: string) => `The operator has accepted no new writing from you since ${since}.`,
    unlisted: (since: string) => `Your posts have been unlisted since ${since}.`,
    withheld: (since: string) => `Your posts have been withheld from everyone since ${since}.`,
  },
  operatorSays: (statement: string) => `The operator says: ${statement}`,
} as const;
