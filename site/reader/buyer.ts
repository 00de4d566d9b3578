/** The account with which a reader pays for posts and carts. */

import { Refusal } from "imprint-press";
import type { Doubt } from "../chain/sent-step.ts";
import {
  type Account,
  AccountChanged,
  account,
  explain,
  isDevelopmentAccount,
  onRightChain,
} from "../wallet/index.ts";
import type { Failure, WalletAccount } from "./gate/reducer.ts";
import { WORDS } from "./words.ts";

const TWICE = WORDS.payTwice;

/** What may have happened to a payment; none of these sentences claims that nothing was paid. */
export const DOUBTS: Readonly<Record<Doubt, string>> = {
  lost: WORDS.paymentLost(TWICE),
  unsettled: WORDS.paymentUnsettled(TWICE),
  replaced: WORDS.paymentReplaced(TWICE),
  unknown: WORDS.paymentUnknown(TWICE),
  pending: WORDS.paymentPending,
};

export const walletAccount = (each: Account): WalletAccount => ({
  address: each.address,
  name: each.name,
  isSilent: isDevelopmentAccount(each),
});

/** The buyer, who must still be the account of this page. Throws `AccountChanged`. */
export function expectPresent({ address }: WalletAccount): Account {
  if (account.value?.address !== address) throw new AccountChanged();
  return account.value;
}

/** The buyer, with the wallet on the chain of the service. It may ask its owner to switch. */
export async function switched(buyer: WalletAccount): Promise<Account> {
  await onRightChain(expectPresent(buyer));
  return expectPresent(buyer);
}

/** Why an effect failed, and what helps. */
export function failureOf(error: unknown): Failure {
  const { sentence, action, isCancelled } = explain(error);
  const code = error instanceof Refusal ? error.code : "";
  const reason =
    error instanceof AccountChanged
      ? "account-changed"
      : code === "not_entitled"
        ? "not-entitled"
        : code.startsWith("session_")
          ? "session-ended"
          : null;
  return { sentence, action, isCancelled, reason };
}
