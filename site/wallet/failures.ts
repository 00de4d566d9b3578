/** What went wrong with a wallet, the chain or the service, in a sentence, and what to do. */

import { type Code, Refusal, Unreachable } from "imprint-press";
import { NotCopied } from "../page/clipboard.ts";
import { NotEncrypted } from "../page/encryption.ts";
import { contact, facts, isDevelopment } from "../page/facts.ts";
import { balance, coin } from "../page/format.ts";
import { WORDS } from "../page/words.ts";

interface Explanation {
  sentence: string;
  action: "retry" | "sign-in" | "switch-chain" | "unlock" | "reload" | null;
  /** The user declined, or closed a dialog: not an error to show in red. */
  isCancelled: boolean;
  /** There was no response, so the request may have taken effect. */
  hasNoResponse?: boolean;
}

/** The user closed the dialog. */
export class Cancelled extends Error {
  override readonly name = "Cancelled";
  constructor() {
    super(WORDS.nothingChosen);
  }
}

/** The wallet is on a chain other than the service's. */
export class WrongChain extends Error {
  override readonly name = "WrongChain";
  constructor(readonly chainId: number) {
    super(WORDS.walletChain(chainId));
  }
}

/** The wallet shares no account: it is locked, or this page is not allowed to see one. */
export class NoAccount extends Error {
  override readonly name = "NoAccount";
}

/** The account that a task was started with is no longer the wallet's. */
export class AccountChanged extends Error {
  override readonly name = "AccountChanged";
}

/** The account cannot pay the price, in wei. */
export class TooLittle extends Error {
  override readonly name = "TooLittle";
  constructor(
    readonly price: bigint,
    readonly funds: bigint,
  ) {
    super(WORDS.accountCannotPayPrice);
  }
}

/** The node of the development chain does not respond. */
export class NodeUnreachable extends Error {
  override readonly name = "NodeUnreachable";
  constructor(cause?: unknown) {
    super(WORDS.chainsNodeDoesNot, { cause });
  }
}

/**
 * What to do if the wallet does not know the network. Without a public node, this page cannot
 * add it, so the sentence says so, and whom to ask.
 */
export function describeUnknownNetwork(
  { name, id, rpc_url }: Pick<typeof facts.chain, "name" | "id" | "rpc_url">,
  contact: string | null,
): string {
  if (rpc_url !== undefined) return WORDS.walletDoesntKnowNetwork(name, id);
  const whom = contact?.replace(/^mailto:/, "") ?? WORDS.whoRunsThisSite;
  return WORDS.networkHasNoNode(name, id, whom);
}

type Action = Explanation["action"];

const say = (sentence: string, action: Action = null, isCancelled = false): Explanation => ({
  sentence,
  action,
  isCancelled,
});

const REJECTED = say(WORDS.declinedWalletNothingSent, "retry", true);

/** Explanations by the codes of EIP-1193, of JSON-RPC, and of individual wallets. */
const WALLET_CODES: Record<string, Explanation> = {
  4001: REJECTED,
  5000: REJECTED,
  ACTION_REJECTED: REJECTED,
  4100: say(WORDS.walletDoesntLetPage, "unlock"),
  4200: say(WORDS.walletCantDoTry),
  4900: say(WORDS.walletLostConnectionOpen, "retry"),
  4901: say(WORDS.walletLostConnectionNetwork, "retry"),
  4902: say(describeUnknownNetwork(facts.chain, contact), "switch-chain"),
  "-32002": say(WORDS.walletAlreadyShowingRequest, "unlock"),
  "-32005": say(WORDS.networkBusyTryAgain, "retry"),
};

const SIGN_IN = say(WORDS.sessionEndedSignAgain, "sign-in");

const BUSY = say(WORDS.serviceBusyTryAgain, "retry");

/** Explanations by the codes of the service; for other codes, its own sentence is shown. */
const REFUSALS: Partial<Record<Code, Explanation>> = {
  session_missing: say(WORDS.signContinue, "sign-in"),
  session_expired: SIGN_IN,
  session_ended: SIGN_IN,
  session_invalid: SIGN_IN,
  signature_stale: say(WORDS.clocksDeviceServiceDiffer, "retry"),
  nonce_used: say(WORDS.alreadySentSignOnce, "retry"),
  subject_mismatch: say(WORDS.belongsAnotherAccountSign, "sign-in"),
  not_entitled: say(WORDS.accountDoesntOwnPost),
  chain_unavailable: say(WORDS.serviceCantReachChain, "retry"),
  storage_unavailable: say(WORDS.serviceCantReachStorage, "retry"),
  database_unavailable: say(WORDS.serviceCantReachDatabase, "retry"),
  index_unavailable: say(WORDS.listPostsStillBeing, "retry"),
  request_timeout: BUSY,
  overloaded: BUSY,
  internal_error: say(WORDS.somethingWentWrongService, "retry"),
};

/** What happened, for the user. */
export function explain(error: unknown): Explanation {
  if (error instanceof Refusal) return explainRefusal(error);
  if (error instanceof Unreachable)
    return say(
      navigator.onLine === false
        ? WORDS.youreOfflineNothingLost
        : WORDS.serviceIsntRespondingNothing,
      "retry",
    );
  if (error instanceof Cancelled) return say(WORDS.nothingChosen, null, true);
  if (error instanceof WrongChain) return explainChain(error.chainId);
  if (error instanceof NoAccount) return say(WORDS.walletLockedOrShares, "unlock");
  if (error instanceof AccountChanged) return say(WORDS.accountWalletChangedWe, "retry");
  if (error instanceof TooLittle)
    return say(WORDS.needPlusSmallNetwork(coin(error.price), balance(error.funds)), "retry");
  if (error instanceof NodeUnreachable)
    return {
      ...say(
        isDevelopment ? WORDS.developmentChainIsntResponding : WORDS.networkIsntRespondingTry,
        "retry",
      ),
      hasNoResponse: true,
    };
  if (error instanceof NotEncrypted || error instanceof NotCopied) return say(error.message);
  return explainWallet(error);
}

function explainChain(chainId: number): Explanation {
  return say(WORDS.walletNetworkChainId(chainId, facts.chain.id), "switch-chain");
}

function explainRefusal(refusal: Refusal): Explanation {
  if (refusal.code === "rate_limited") {
    const wait = refusal.retryAfter ? WORDS.inSeconds(refusal.retryAfter) : WORDS.inAMoment;
    return say(WORDS.lotOnceTryAgain(wait), "retry");
  }
  if (refusal.code === "signature_invalid" && !facts.features.includes("contract-wallets"))
    return say(WORDS.signatureDoesntMatchAccount, "sign-in");
  return REFUSALS[refusal.code] ?? say(refusal.detail || WORDS.serviceRefused);
}

function explainWallet(error: unknown): Explanation {
  for (const each of causes(error)) {
    const known = WALLET_CODES[String(each.code)];
    if (known) return known;
  }
  const text = causes(error)
    .map(({ message }) => message)
    .join(" ");
  if (/user (rejected|denied|cancel)|rejected by user/i.test(text)) return REJECTED;
  if (/chain ?id\b/i.test(text))
    return say(WORDS.walletAnotherNetworkSwitch(facts.chain.id), "switch-chain");
  if (/insufficient (funds|balance)|exceeds (the )?balance/i.test(text))
    return say(WORDS.accountCantCoverAmount);
  if (/nonce too low|already known|replacement transaction/i.test(text))
    return say(WORDS.walletBusyAnotherTransaction, "retry");
  if (/revert/i.test(text)) return say(WORDS.marketplaceRefusedTransactionReload, "reload");
  if (/dynamically imported module|importing a module script/i.test(text))
    return say(WORDS.partPageCouldntLoad, "reload");
  if (/failed to fetch|network error|timed? ?out|ECONN/i.test(text))
    return explain(new NodeUnreachable());
  if (/locked/i.test(text)) return say(WORDS.walletLockedUnlockThen, "unlock");
  const [first] = causes(error);
  return say(
    first?.message ? WORDS.walletSays(first.message.slice(0, 200)) : WORDS.didntWorkTryAgain,
    "retry",
  );
}

/** Codes of wallets and nodes after which nothing was sent (EIP-1193, EIP-1474; 3 is a revert). */
const NOTHING_SENT = new Set([3, 4001, 4100, 4200, 4900, 4901, 4902, -32000, -32003, -32602]);

/** Whether a wallet that failed like this has certainly sent no transaction. */
export function hasSentNothing(error: unknown): boolean {
  const { action, isCancelled, hasNoResponse } = explain(error);
  if (isCancelled || action === "switch-chain") return true;
  const found = causes(error);
  // Geth has one code for many refusals; this one means that it has the transaction.
  if (hasNoResponse || found.some(({ message }) => /already known/i.test(message))) return false;
  return found.some(
    ({ code, message }) => NOTHING_SENT.has(Number(code)) || /revert/i.test(message),
  );
}

interface Cause {
  code: unknown;
  message: string;
}

/** An error and the errors inside it: wallets wrap the node's error. */
function causes(error: unknown): Cause[] {
  const found: Cause[] = [];
  const seen = new Set<unknown>();
  const look = (value: unknown): void => {
    if (typeof value !== "object" || value === null || seen.has(value) || seen.size > 8) return;
    seen.add(value);
    const {
      code,
      message,
      cause,
      data,
      originalError,
      error: inner,
    } = value as Record<string, unknown>;
    found.push({ code, message: typeof message === "string" ? message : "" });
    for (const each of [cause, data, originalError, inner]) look(each);
  };
  look(error);
  return found;
}
