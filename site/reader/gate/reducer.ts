/**
 * Decides what the gate of a paid post shows and does next. Pure: no page, no wallet, no clock.
 */

import type { Address } from "imprint-press";
import {
  advancePurchase,
  beginPurchase,
  isBegun,
  isSamePurchase,
  type Purchase,
  type PurchaseEvent,
} from "../../chain/purchase.ts";
import type { Doubt, Outcome } from "../../chain/sent-step.ts";
import { coin } from "../../page/format.ts";
import { WORDS } from "../words.ts";

/** An account of the reader's wallet. */
export interface WalletAccount {
  readonly address: Address;
  /** The name of its wallet. */
  readonly name: string;
  /** Whether the account signs without a prompt. */
  readonly isSilent: boolean;
}

/** Why something failed, and what helps. */
export interface Failure {
  readonly sentence: string;
  readonly action: "retry" | "sign-in" | "switch-chain" | "unlock" | "reload" | null;
  /** The reader declined, or closed a dialog. */
  readonly isCancelled: boolean;
  readonly reason: "account-changed" | "not-entitled" | "session-ended" | null;
}

/** The action of a click. */
export type Wish =
  /** Pay; `doubted` is an earlier payment that may still arrive, as the reader was told. */
  | { readonly kind: "buy"; readonly doubted?: Purchase }
  /** Sign in and open a post that is already held. */
  | { readonly kind: "open" }
  /** Continue a purchase after a failure; it is never started twice. */
  | { readonly kind: "continue"; readonly buyer: WalletAccount | null }
  /** Sign in and read the bought post. */
  | { readonly kind: "read"; readonly buyer: WalletAccount }
  | { readonly kind: "reload" };

export interface StepsNote {
  readonly role: "status" | "alert";
  readonly sentence: string;
}

/** What the gate shows. */
export type Shown =
  | {
      readonly kind: "offer";
      readonly price: bigint;
      /** Whether the offer has a button for holders to sign in. */
      readonly canOpen: boolean;
      readonly note: string | null;
    }
  | { readonly kind: "held"; readonly isAuthor: boolean; readonly note: string | null }
  | { readonly kind: "failure"; readonly failure: Failure; readonly again: Wish }
  | { readonly kind: "another-tab" }
  | {
      readonly kind: "steps";
      readonly buyer: WalletAccount;
      /** Null if the post is already held. */
      readonly purchase: Purchase | null;
      readonly isSignedIn: boolean;
      readonly note: StepsNote | null;
      /** Whether the next step is a prompt that needs a click. */
      readonly needsClick: boolean;
    }
  | {
      readonly kind: "doubt";
      readonly buyer: WalletAccount;
      readonly purchase: Purchase;
      readonly doubt: Doubt;
    }
  | { readonly kind: "reverted"; readonly buyer: WalletAccount }
  | { readonly kind: "open"; readonly isAuthor: boolean };

/**
 * The buyer, and what started it: a click on buying, a reload or retry, or a click on signing in.
 */
interface Buying {
  readonly buyer: WalletAccount;
  readonly via: "buy" | "continue" | "read";
}

type Phase =
  | { readonly kind: "idle" }
  | { readonly kind: "looking"; readonly note: string | null }
  | { readonly kind: "opening" }
  | { readonly kind: "connecting"; readonly doubted: Purchase | null }
  | (Buying & { readonly kind: "resuming" })
  | (Buying & {
      readonly kind: "locking";
      readonly doubted: Purchase | null;
      readonly note: string | null;
    })
  | (Buying & { readonly kind: "waiting" })
  | (Buying & {
      readonly kind: "preparing";
      readonly doubted: Purchase | null;
      readonly kept: Purchase | null;
    })
  | (Buying & {
      readonly kind: "paying";
      readonly purchase: Purchase;
      /** An uncertain earlier payment, stored until the wallet is asked to pay for the new one. */
      readonly doubted: Purchase | null;
      readonly note: string | null;
    })
  | (Buying & { readonly kind: "reading"; readonly polls: number });

export interface GateState {
  readonly postId: string;
  readonly author: string;
  /** In wei, as far as this page knows. */
  readonly price: bigint;
  readonly account: WalletAccount | null;
  /** The signed-in address. */
  readonly session: Address | null;
  readonly phase: Phase;
  /** Counts started phases: results of earlier phases are dropped. */
  readonly turn: number;
  /** The account that opened the text; null while it is closed. */
  readonly openFor: Address | null;
  /** Null means the page's own content. */
  readonly shown: Shown | null;
}

/** What the page should do. Its result is an event with the turn in which it was started. */
export type Effect =
  /** Check the state of the account without a prompt. */
  | { readonly type: "look"; readonly asks: "text" | "holder" | "nothing" }
  /** Sign in if needed, and read the text; fails if `buyer` is another account by then. */
  | { readonly type: "read"; readonly buyer: WalletAccount | null }
  | { readonly type: "connect" }
  /** Read the stored purchase, and switch the wallet to the right chain. */
  | { readonly type: "resume"; readonly buyer: WalletAccount }
  /** Make this the only tab that buys the post for the account. */
  | { readonly type: "lock"; readonly buyer: WalletAccount }
  | { readonly type: "await-lock"; readonly buyer: WalletAccount }
  | { readonly type: "unlock" }
  /** Switch the wallet to the right chain, and read the price and the holder. */
  | { readonly type: "prepare"; readonly buyer: WalletAccount }
  /** Have the wallet pay, or find out what happened to a payment. */
  | { readonly type: "pay"; readonly buyer: WalletAccount }
  | { readonly type: "pause"; readonly seconds: number }
  | { readonly type: "keep"; readonly account: Address; readonly purchase: Purchase | null }
  | { readonly type: "show-text"; readonly html: string; readonly isFocused: boolean }
  | { readonly type: "clear-text" }
  | { readonly type: "notify"; readonly sentence: string }
  | { readonly type: "reload" };

/** The result of an effect. */
export type Result =
  | { readonly type: "looked"; readonly found: "begun" | "held" | "not-held" }
  | { readonly type: "text"; readonly html: string; readonly reader: Address }
  | { readonly type: "connected"; readonly buyer: WalletAccount }
  | { readonly type: "resumed"; readonly isKept: boolean }
  | { readonly type: "locked"; readonly kept: Purchase | null }
  | { readonly type: "lock-taken" }
  | { readonly type: "lock-free" }
  | { readonly type: "prepared"; readonly price: bigint; readonly isHeld: boolean }
  | { readonly type: "moved"; readonly event: PurchaseEvent }
  /** Who is being waited for, or null once everybody responds. */
  | { readonly type: "noted"; readonly note: string | null }
  | { readonly type: "settled"; readonly outcome: Outcome }
  | { readonly type: "paused" }
  | { readonly type: "failed"; readonly failure: Failure };

interface Presence {
  readonly account: WalletAccount | null;
  readonly session: Address | null;
}

export type GateEvent =
  | (Presence & { readonly type: "started"; readonly wish: Wish | null })
  /** The account was switched, or a session began or ended. */
  | (Presence & { readonly type: "changed" })
  | { readonly type: "clicked"; readonly wish: Wish }
  | (Result & { readonly turn: number });

export type Next = readonly [GateState, readonly Effect[]];

/**
 * How many times, and how many seconds apart, the service is asked for a text that was sold on the
 * chain.
 */
const ENTITLED_POLLS = 40;
const ENTITLED_PAUSE = 1;

/** Replaces "nothing was sent" when the purchase is already on the chain. */
const UNSIGNED = WORDS.declinedSignIn;

const IDLE: Phase = { kind: "idle" };

/** A new gate, which knows only its post. */
export const closedGate = (postId: string, author: string, price: bigint): GateState => ({
  postId,
  author,
  price,
  account: null,
  session: null,
  phase: IDLE,
  turn: 0,
  openFor: null,
  shown: null,
});

/** The gate after an event, and the effects to run. */
export function reduce(state: GateState, event: GateEvent): Next {
  switch (event.type) {
    case "started": {
      const { account, session, wish } = event;
      const known = { ...state, account, session };
      return wish ? click(known, wish) : look(known);
    }
    case "changed":
      return changePresence(state, event);
    case "clicked":
      return click(state, event.wish);
    default:
      if (event.turn === state.turn) return advance(state, event);
      // The end of the session has already redrawn the gate; here it is only reported.
      return [state, event.type === "failed" ? notifySessionEnd(event.failure) : []];
  }
}

/** A running purchase ignores clicks; a sign-in gives way to the next click. */
function click(state: GateState, wish: Wish): Next {
  if (isBuying(state.phase) || state.openFor !== null) return [state, []];
  switch (wish.kind) {
    case "buy":
      return buy(state, wish.doubted ?? null);
    case "open":
      return begin(state, { kind: "opening" }, { type: "read", buyer: null });
    case "continue": {
      const { buyer } = wish;
      if (!buyer || !isAccount(state, buyer)) return buy(state, null);
      const phase = { kind: "resuming", via: "continue", buyer } as const;
      return begin(state, phase, { type: "resume", buyer });
    }
    case "read":
      return read({ ...state, turn: state.turn + 1 }, { buyer: wish.buyer, via: "read" });
    case "reload":
      return [state, [{ type: "reload" }]];
  }
}

const buy = (state: GateState, doubted: Purchase | null): Next =>
  begin(state, { kind: "connecting", doubted }, { type: "connect" });

/**
 * The text of one account is not left open for the next one, nor after signing out. It stays open
 * when only the session ends.
 */
function changePresence(state: GateState, { account, session }: Presence): Next {
  const known = { ...state, account, session };
  const { openFor, phase } = state;
  if (openFor !== null && isSame(session ?? account?.address, openFor)) return [known, []];
  const cleared: Effect[] = openFor === null ? [] : [{ type: "clear-text" }];
  const closed = { ...known, openFor: null };
  if (phase.kind === "opening" || isBuying(phase)) return [closed, cleared];
  return prepend(cleared, look(closed));
}

/** Check the state again. The current view stays until the result is known. */
function look(state: GateState, note: string | null = null): Next {
  const isUnsure = state.account !== null && !isAuthor(state, state.account.address);
  const asks = state.session ? "text" : isUnsure ? "holder" : "nothing";
  return begin(state, { kind: "looking", note }, { type: "look", asks });
}

/** Handle the result of the effect that the current phase waits for. */
function advance(state: GateState, result: Result): Next {
  const { phase } = state;
  if (result.type === "failed") return fail(state, result.failure);
  switch (phase.kind) {
    case "looking":
      if (result.type === "text") return open(state, result, false);
      if (result.type === "looked") return showStanding(state, phase.note, result.found);
      break;
    case "opening":
      if (result.type === "text") return open(state, result, true);
      break;
    case "connecting":
      if (result.type === "connected")
        return lock(state, { buyer: result.buyer, via: "buy" }, phase.doubted);
      break;
    case "resuming":
      if (result.type === "resumed") return result.isKept ? lock(state, phase) : buy(state, null);
      break;
    case "locking":
      if (result.type === "locked") return continuePurchase(state, phase, result.kept);
      if (result.type === "lock-taken") {
        const { buyer, via } = phase;
        const waiting = { ...state, phase: { kind: "waiting", buyer, via } as const };
        return [show(waiting, { kind: "another-tab" }), [{ type: "await-lock", buyer }]];
      }
      break;
    case "waiting":
      if (result.type === "lock-free") return look(state);
      break;
    case "preparing":
      if (result.type === "prepared") return checkPrice(state, phase, result);
      break;
    case "paying":
      if (result.type === "moved") return move(state, phase, result.event);
      if (result.type === "noted") return note(state, phase, result.note);
      if (result.type === "settled") return settle(state, phase, result.outcome);
      break;
    case "reading":
      if (result.type === "text")
        return prepend(
          [{ type: "keep", account: phase.buyer.address, purchase: null }, { type: "unlock" }],
          open(state, result, true),
        );
      if (result.type === "paused") return [state, [{ type: "read", buyer: phase.buyer }]];
      break;
    default:
  }
  return [state, []];
}

/** The view of a state in which the text is not open. */
function showStanding(
  state: GateState,
  note: string | null,
  found: "begun" | "held" | "not-held",
): Next {
  const { account, session } = state;
  if (account && found === "begun")
    return lock(state, { buyer: account, via: "continue" }, null, note && UNSIGNED);
  const isOwn = account !== null && session === null && isAuthor(state, account.address);
  if (found === "held" || isOwn) return showIdle(state, { kind: "held", isAuthor: isOwn, note });
  return showIdle(state, offer(state, note));
}

const offer = ({ price, session }: GateState, note: string | null): Shown => ({
  kind: "offer",
  price,
  canOpen: session === null,
  note,
});

/** Only one tab buys a post for an account; the others say so and follow. */
function lock(
  state: GateState,
  { buyer, via }: Buying,
  doubted: Purchase | null = null,
  note: string | null = null,
): Next {
  const phase = { kind: "locking", buyer, via, doubted, note } as const;
  return begin(state, phase, { type: "lock", buyer });
}

/** Continue the stored purchase; another tab may have finished it meanwhile. */
function continuePurchase(
  state: GateState,
  { buyer, via, doubted, note }: Phase & { kind: "locking" },
  kept: Purchase | null,
): Next {
  if (via === "buy") {
    const phase = { kind: "preparing", buyer, via, doubted, kept } as const;
    return [{ ...state, phase }, [{ type: "prepare", buyer }]];
  }
  if (kept === null) return prepend([{ type: "unlock" }], look(state));
  if (kept.step === "entitled") return readBought(state, { buyer, via }, note);
  return pay(state, { kind: "paying", buyer, via, purchase: kept, doubted: null, note });
}

/** Pay, unless the post is already held or its price has changed. */
function checkPrice(
  state: GateState,
  { buyer, via, kept, doubted }: Phase & { kind: "preparing" },
  { price, isHeld }: { price: bigint; isHeld: boolean },
): Next {
  if (isHeld || isAuthor(state, buyer.address)) return read(state, { buyer, via });
  const isDoubted = kept !== null && isSamePurchase(kept, doubted);
  const begun = isDoubted ? null : kept;
  if (!begun && price !== state.price) {
    const change = WORDS.authorChangedPriceFrom(coin(state.price), coin(price));
    const sentence = isDoubted ? change : `${change} ${WORDS.nothingSent}`;
    const changed = { ...state, price };
    return showIdle(changed, offer(changed, sentence), { type: "unlock" });
  }
  const purchase = begun ?? beginPurchase(state.postId, buyer.address, price);
  const replaced = isDoubted ? kept : null;
  return pay(state, { kind: "paying", buyer, via, purchase, doubted: replaced, note: null });
}

const pay = (state: GateState, phase: Phase & { kind: "paying" }): Next => [
  showProgress({ ...state, phase }, phase),
  [{ type: "pay", buyer: phase.buyer }],
];

function move(state: GateState, before: Phase & { kind: "paying" }, event: PurchaseEvent): Next {
  const phase = { ...before, purchase: advancePurchase(before.purchase, event) };
  // A sent transaction belongs to the account that sent it, whichever is shown now.
  const purchase = isBegun(phase.purchase) ? phase.purchase : phase.doubted;
  const keep: Effect = { type: "keep", account: phase.buyer.address, purchase };
  return [showProgress({ ...state, phase }, phase), [keep]];
}

/** A purchase shows nothing before the wallet is asked. */
const showProgress = (state: GateState, { buyer, purchase }: Phase & { kind: "paying" }) =>
  isBegun(purchase) ? show(state, steps(state, buyer, purchase)) : state;

function note(state: GateState, phase: Phase & { kind: "paying" }, sentence: string | null): Next {
  const { shown } = state;
  const isNoted = shown?.kind === "steps" && shown.note !== null;
  if (sentence === null && !isNoted) return [state, []];
  const said: StepsNote | null = sentence === null ? null : { role: "status", sentence };
  return [show(state, steps(state, phase.buyer, phase.purchase, said)), []];
}

function settle(state: GateState, phase: Phase & { kind: "paying" }, outcome: Outcome): Next {
  const { buyer, purchase } = phase;
  switch (outcome.kind) {
    case "done":
    case "mined": {
      const [moved, effects] = move(state, phase, { type: "mined" });
      return prepend(effects, readBought(moved, phase, phase.note));
    }
    case "doubt":
      return showIdle(
        state,
        { kind: "doubt", buyer, purchase, doubt: outcome.doubt },
        { type: "unlock" },
      );
    default:
      return showIdle(state, { kind: "reverted", buyer }, { type: "unlock" });
  }
}

/** The post is bought: read it. After a reload, a prompt to sign in needs a click. */
function readBought(state: GateState, { buyer, via }: Buying, sentence: string | null): Next {
  if (via === "buy" || state.session !== null) return read(state, { buyer, via });
  if (!isAccount(state, buyer)) return prepend([{ type: "unlock" }], look(state));
  const said: StepsNote | null = sentence === null ? null : { role: "alert", sentence };
  const shown = { ...steps(state, buyer, null, said), needsClick: true };
  return showIdle(state, shown, { type: "unlock" });
}

const read = (state: GateState, { buyer, via }: Buying): Next => [
  show({ ...state, phase: { kind: "reading", buyer, via, polls: 1 } }, steps(state, buyer, null)),
  [{ type: "read", buyer }],
];

const steps = (
  { session }: GateState,
  buyer: WalletAccount,
  purchase: Purchase | null,
  said: StepsNote | null = null,
): Shown & { kind: "steps" } => ({
  kind: "steps",
  buyer,
  purchase,
  isSignedIn: session !== null,
  note: said,
  needsClick: false,
});

function open(
  state: GateState,
  { html, reader }: { html: string; reader: Address },
  isFocused: boolean,
): Next {
  const shown: Shown = { kind: "open", isAuthor: isAuthor(state, reader) };
  return showIdle({ ...state, openFor: reader }, shown, { type: "show-text", html, isFocused });
}

function fail(state: GateState, failure: Failure): Next {
  const { phase } = state;
  const { sentence, isCancelled, reason } = failure;
  switch (phase.kind) {
    case "idle":
      return [state, []];
    case "looking":
      // The change redraws the gate.
      if (reason === "session-ended" || reason === "account-changed")
        return [{ ...state, phase: IDLE }, notifySessionEnd(failure)];
      if (reason === "not-entitled") return showIdle(state, offer(state, phase.note));
      return showFailure(state, failure, { kind: "open" });
    case "opening":
      if (reason === "not-entitled") return showIdle(state, offer(state, sentence));
      if (isCancelled) return look(state, sentence);
      return showFailure(state, failure, { kind: "open" });
    case "connecting":
      return isCancelled ? look(state) : stop(state, failure, null);
    case "reading":
      if (reason === "not-entitled" && phase.polls < ENTITLED_POLLS) {
        const waiting = { ...phase, polls: phase.polls + 1 };
        return [{ ...state, phase: waiting }, [{ type: "pause", seconds: ENTITLED_PAUSE }]];
      }
      break;
    default:
  }
  const { buyer, via } = phase;
  const isDeclined = isCancelled && via !== "continue";
  return prepend(
    [{ type: "unlock" }],
    isDeclined
      ? look(state, sentence)
      : via === "read"
        ? showFailure(state, failure, { kind: "read", buyer })
        : stop(state, failure, buyer),
  );
}

const notifySessionEnd = ({ reason, sentence }: Failure): Effect[] =>
  reason === "session-ended" ? [{ type: "notify", sentence }] : [];

function stop(state: GateState, failure: Failure, buyer: WalletAccount | null): Next {
  // Signed out meanwhile: the purchase stays stored for the account.
  if (failure.reason === "account-changed" && state.account === null) return look(state);
  return showFailure(state, failure, { kind: "continue", buyer });
}

const showFailure = (state: GateState, failure: Failure, again: Wish): Next =>
  showIdle(state, {
    kind: "failure",
    failure,
    again: failure.action === "reload" ? { kind: "reload" } : again,
  });

/** Start a phase: results of earlier phases are dropped from now on. */
const begin = (state: GateState, phase: Phase, effect: Effect): Next => [
  { ...state, phase, turn: state.turn + 1 },
  [effect],
];

/** Show a view, and wait for the reader. */
const showIdle = (state: GateState, shown: Shown, ...effects: Effect[]): Next => [
  { ...state, phase: IDLE, shown },
  effects,
];

const show = (state: GateState, shown: Shown): GateState => ({ ...state, shown });

const prepend = (effects: readonly Effect[], [state, more]: Next): Next => [
  state,
  [...effects, ...more],
];

const isBuying = ({ kind }: Phase): boolean => !["idle", "looking", "opening"].includes(kind);

const isAccount = ({ account }: GateState, { address }: WalletAccount): boolean =>
  isSame(account?.address, address);

const isAuthor = ({ author }: GateState, address: string): boolean => isSame(address, author);

const isSame = (one: string | undefined, other: string): boolean =>
  one?.toLowerCase() === other.toLowerCase();
