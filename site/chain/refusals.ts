/** Sentences that explain why the marketplace refuses a transaction. */

import { type Address, type Call, ERRORS, POST_LIMITS, type Provider } from "imprint-press";
import { coin } from "../page/format.ts";
import { WORDS } from "../page/words.ts";

/** A sentence for each error of the contract, by the error's name. */
const SENTENCES: Readonly<Record<keyof typeof ERRORS, string>> = {
  CidMissing: WORDS.textIsntSavedProperly,
  CidAlreadyPublished: WORDS.versionTextAlreadyPublished,
  TitleMissing: WORDS.postNeedsTitleGo,
  TitleTooLong: WORDS.titleTooLong100,
  ThumbnailMissing: WORDS.postNoPictureGo,
  DescriptionTooLong: WORDS.descriptionTooLong500,
  PriceTooHigh: WORDS.priceTooHigh(coin(POST_LIMITS.priceWei)),
  TooManyHashtags: WORDS.postTooManyHashtags,
  UnknownPost: WORDS.marketplaceDoesntKnowPost,
  OnlyAuthor: WORDS.onlyPostsAuthorCan,
  AuthorNeedNotBuy: WORDS.wrotePostDontNeed,
  AlreadySubscribed: WORDS.accountAlreadyOwnsPost,
  PaymentTooLow: WORDS.authorRaisedPriceReload,
  PaymentRefused: WORDS.authorsWalletDoesntAccept,
};

/** The same sentences, by the selectors of the errors. */
const BY_SELECTOR: ReadonlyMap<string, string> = new Map(
  Object.entries(ERRORS).map(([name, selector]) => [
    selector,
    SENTENCES[name as keyof typeof ERRORS],
  ]),
);

const UNNAMED = WORDS.marketplaceRefusedTransactionWithout;

/**
 * Simulate a call: the sentence of its refusal, or null if it would succeed.
 *
 * Throws errors that are not refusals of the contract, such as an unavailable node.
 */
export async function findRefusal(
  provider: Provider,
  from: Address,
  { to, data, value }: Call,
): Promise<string | null> {
  const paid = value !== undefined && { value: `0x${value.toString(16)}` };
  try {
    const params = [{ from, to, data, ...paid }, "latest"];
    await provider.request({ method: "eth_call", params });
    return null;
  } catch (error) {
    const sentence = refusalSentence(error);
    if (sentence === null) throw error;
    return sentence;
  }
}

/** The sentence of the contract's revert; null if the error is of another kind. */
export function refusalSentence(error: unknown): string | null {
  let isRevert = false;
  const seen = new Set<unknown>();
  const look = (value: unknown): string | null => {
    if (typeof value === "string") {
      const selector = /0x[0-9a-f]{8}/i.exec(value)?.[0].toLowerCase() ?? "";
      isRevert ||= /revert/i.test(value);
      return BY_SELECTOR.get(selector) ?? null;
    }
    if (typeof value !== "object" || value === null || seen.has(value) || seen.size > 8)
      return null;
    seen.add(value);
    const { data, message, cause, originalError, error: inner } = value as Record<string, unknown>;
    isRevert ||= (value as { code?: unknown }).code === 3;
    for (const each of [data, originalError, cause, inner, message]) {
      const found = look(each);
      if (found) return found;
    }
    return null;
  };
  return look(error) ?? (isRevert ? UNNAMED : null);
}
