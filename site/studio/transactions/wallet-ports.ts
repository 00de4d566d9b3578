/** An author's wallet as used by publications and price changes. */

import { type Call, Refusal } from "imprint-press";
import { chainOf, RETRY_PORTS } from "../../chain/node.ts";
import { findRefusal, refusalSentence } from "../../chain/refusals.ts";
import {
  type Account,
  account,
  explain,
  hasSentNothing,
  onRightChain,
} from "../../wallet/index.ts";
import { WORDS } from "../words.ts";
import { type Failure, Stopped } from "./failure.ts";
import type { WalletPorts } from "./step-runner.ts";

/** The account that publishes; its wallet may have switched meanwhile. Throws `Stopped`. */
export function presentAccount(address: string): Account {
  const shown = account.value;
  if (shown?.address.toLowerCase() === address.toLowerCase()) return shown;
  throw new Stopped({
    sentence: WORDS.continueFromAuthor,
    actions: ["retry"],
  });
}

/** The wallet of one account, and what its failures mean. */
export const walletPorts = (address: Account["address"]): WalletPorts => ({
  ...RETRY_PORTS,
  chain: chainOf(address, () => presentAccount(address).provider),
  switchChain: () => onRightChain(presentAccount(address)),
  findRefusal: (call: Call) => findRefusal(presentAccount(address).provider, address, call),
  send: (call: Call) => presentAccount(address).wallet.sendTransaction(call),
  hasSentNothing: (error) =>
    error instanceof Stopped || refusalSentence(error) !== null || hasSentNothing(error),
  explain: explainFailure,
});

function explainFailure(error: unknown): Failure {
  const refusal = refusalSentence(error);
  if (refusal !== null) return { sentence: refusal, actions: ["retry", "edit"] };
  const { sentence, action } = explain(error);
  if (error instanceof Refusal && error.code === "invalid_image") {
    return { sentence: `${sentence} ${WORDS.chooseAnotherPicture}`, actions: ["edit"] };
  }
  if (action === "switch-chain") return { sentence, actions: ["switch-chain"] };
  return { sentence, actions: action === "sign-in" ? ["sign-in", "retry"] : ["retry"] };
}
