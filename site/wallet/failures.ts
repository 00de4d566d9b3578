/** What went wrong with a wallet, the chain or the service, in a sentence, and what to do. */

import { type Code, Refusal, Unreachable } from "imprint-press";
import { NotCopied } from "../page/clipboard.ts";
import { NotEncrypted } from "../page/encryption.ts";
import { facts, isDevelopment } from "../page/facts.ts";

interface Explanation {
  sentence: string;
  action: "retry" | "sign-in" | "switch-chain" | "unlock" | "reload" | null;
  /** The user declined, or closed a dialog: not an error to show in red. */
  isCancelled: boolean;
  /** There was no response, so it may have been done. */
  hasNoResponse?: boolean;
}

/** The user closed the dialog. */
export class Cancelled extends Error {
  override readonly name = "Cancelled";
  constructor() {
    super("Nothing was chosen.");
  }
}

/** The wallet is on a chain other than the service's. */
export class WrongChain extends Error {
  override readonly name = "WrongChain";
  constructor(readonly chainId: number) {
    super(`The wallet is on chain ${chainId}.`);
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

/** The node of the development chain does not respond. */
export class NodeUnreachable extends Error {
  override readonly name = "NodeUnreachable";
  constructor(cause?: unknown) {
    super("The chain's node does not respond.", { cause });
  }
}

type Action = Explanation["action"];

const say = (sentence: string, action: Action = null, isCancelled = false): Explanation => ({
  sentence,
  action,
  isCancelled,
});

const REJECTED = say("You declined in your wallet. Nothing was sent.", "retry", true);

/** By the codes of EIP-1193, of JSON-RPC, and of individual wallets. */
const WALLET_CODES: Record<string, Explanation> = {
  4001: REJECTED,
  5000: REJECTED,
  ACTION_REJECTED: REJECTED,
  4100: say(
    "Your wallet does not let this page use that account. Unlock it and allow it.",
    "unlock",
  ),
  4200: say("Your wallet cannot do this. Another wallet may."),
  4900: say("Your wallet has lost its connection. Open it, then try again.", "retry"),
  4901: say("Your wallet has lost its connection to this chain. Open it, then try again.", "retry"),
  4902: say(
    `Your wallet does not know this chain. Add the network with chain id ${facts.chain.id} to it, then try again.`,
    "switch-chain",
  ),
  "-32002": say(
    "Your wallet already shows a request of this page. Open your wallet and confirm or decline it.",
    "unlock",
  ),
  "-32005": say("The chain's node is busy. Try again in a moment.", "retry"),
};

const SIGN_IN = say("Your session has ended. Sign in again to go on.", "sign-in");

const BUSY = say("The service is busy. Try again in a moment.", "retry");

/** By the codes of the service; for others its own sentence is shown. */
const REFUSALS: Partial<Record<Code, Explanation>> = {
  session_missing: say("Sign in to go on.", "sign-in"),
  session_expired: SIGN_IN,
  session_ended: SIGN_IN,
  session_invalid: SIGN_IN,
  signature_stale: say(
    "The clocks of this device and of the service differ. The time has been set right: sign once more.",
    "retry",
  ),
  nonce_used: say("This was sent before. Sign once more to send it again.", "retry"),
  subject_mismatch: say("This belongs to another account. Sign in with that one.", "sign-in"),
  not_entitled: say("This account does not hold the post, so its text stays closed."),
  chain_unavailable: say(
    "The service cannot reach the chain right now. Try again in a moment.",
    "retry",
  ),
  storage_unavailable: say(
    "The service cannot reach its storage right now. Try again in a moment.",
    "retry",
  ),
  database_unavailable: say(
    "The service cannot reach its database right now. Try again in a moment.",
    "retry",
  ),
  index_unavailable: say("The list of posts is being built. Try again in a moment.", "retry"),
  request_timeout: BUSY,
  overloaded: BUSY,
  internal_error: say(
    "Something broke in the service. Try again; if it stays, tell its operator.",
    "retry",
  ),
};

/** What happened, for the user. */
export function explain(error: unknown): Explanation {
  if (error instanceof Refusal) return explainRefusal(error);
  if (error instanceof Unreachable)
    return say(
      navigator.onLine === false
        ? "You are offline. Nothing is lost: try again when you are connected."
        : "The service does not respond. Nothing is lost: try again in a moment.",
      "retry",
    );
  if (error instanceof Cancelled) return say("Nothing was chosen.", null, true);
  if (error instanceof WrongChain) return explainChain(error.chainId);
  if (error instanceof NoAccount)
    return say("Your wallet is locked or shares no account. Unlock it, then try again.", "unlock");
  if (error instanceof AccountChanged)
    return say(
      "The account in your wallet changed, so this was stopped. Start again with the new one.",
      "retry",
    );
  if (error instanceof NodeUnreachable)
    return {
      ...say(
        isDevelopment
          ? "The development chain does not respond. Is imprint dev still running?"
          : "The chain's node does not respond. Try again in a moment.",
        "retry",
      ),
      hasNoResponse: true,
    };
  if (error instanceof NotEncrypted || error instanceof NotCopied) return say(error.message);
  return explainWallet(error);
}

function explainChain(chainId: number): Explanation {
  return say(
    `Your wallet is on the network with chain id ${chainId}. Choose the one with chain id ${facts.chain.id} in it, then try again.`,
    "switch-chain",
  );
}

function explainRefusal(refusal: Refusal): Explanation {
  if (refusal.code === "rate_limited") {
    const wait = refusal.retryAfter ? `in ${refusal.retryAfter} seconds` : "in a moment";
    return say(`That was a lot at once. Try again ${wait}.`, "retry");
  }
  if (refusal.code === "signature_invalid" && !facts.features.includes("contract-wallets"))
    return say(
      "The signature does not fit the account. This service does not accept contract wallets: use an account with a key of its own.",
      "sign-in",
    );
  return REFUSALS[refusal.code] ?? say(refusal.detail || "The service refused this.");
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
    return say(
      `Your wallet is on another network. Choose the one with chain id ${facts.chain.id} in it, then try again.`,
      "switch-chain",
    );
  if (/insufficient (funds|balance)|exceeds (the )?balance/i.test(text))
    return say(
      "This account has too little for the price and the network's fee. Add funds or switch account.",
    );
  if (/nonce too low|already known|replacement transaction/i.test(text))
    return say(
      "Your wallet has another transaction under way. Wait until it is done, then try again.",
      "retry",
    );
  if (/revert/i.test(text))
    return say(
      "The marketplace refuses this transaction. Reload to see how things stand now.",
      "reload",
    );
  if (/dynamically imported module|importing a module script/i.test(text))
    return say("A part of this page could not be loaded. Reload the page.", "reload");
  if (/failed to fetch|network error|timed? ?out|ECONN/i.test(text))
    return explain(new NodeUnreachable());
  if (/locked/i.test(text))
    return say("Your wallet is locked. Unlock it, then try again.", "unlock");
  const [first] = causes(error);
  return say(
    first?.message
      ? `Your wallet says: ${first.message.slice(0, 200)}`
      : "That did not work. Try again.",
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
