/** Why the marketplace refuses a transaction, in sentences. */

import { type Address, type Call, ERRORS, type Provider } from "imprint-press";

/** Sentences by the names of the contract's errors, one for each. */
const SENTENCES: Readonly<Record<keyof typeof ERRORS, string>> = {
  CidMissing: "The text has no cid. Save it again, then publish.",
  CidAlreadyPublished: "This version of the text is on the chain already.",
  TitleMissing: "The marketplace wants a title. Go back and give the post one.",
  TitleTooLong: "The title is too long for the marketplace: at most 100 bytes.",
  ThumbnailMissing: "The post has no picture. Go back and choose one.",
  DescriptionTooLong: "The description is too long for the marketplace: at most 500 bytes.",
  PriceTooHigh: "The price is above the highest that the marketplace accepts, which is 1.",
  TooManyHashtags: "The post has more hashtags than the marketplace accepts: at most 10.",
  UnknownPost: "The marketplace has no such post.",
  OnlyAuthor: "Only the author of the post can do this. Switch to the author’s account.",
  AuthorNeedNotBuy: "You wrote this post, so you need not buy it.",
  AlreadySubscribed: "This account holds the post already.",
  PaymentTooLow: "The author has raised the price meanwhile. Reload to see the new one.",
  PaymentRefused: "The author’s wallet does not accept the payment, so the post cannot be sold.",
};

/** The same by the selectors of the errors. */
const BY_SELECTOR: ReadonlyMap<string, string> = new Map(
  Object.entries(ERRORS).map(([name, selector]) => [
    selector,
    SENTENCES[name as keyof typeof ERRORS],
  ]),
);

const UNNAMED = "The marketplace refuses this transaction, without saying why.";

/**
 * Simulate a call: the sentence of its refusal, or null if it would succeed.
 *
 * Throws errors that are not refusals of the contract, such as an unavailable node.
 */
export async function findRefusal(
  provider: Provider,
  from: Address,
  { to, data }: Call,
): Promise<string | null> {
  try {
    await provider.request({ method: "eth_call", params: [{ from, to, data }, "latest"] });
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
