/**
 * Decides what an order of posts shows and does next. Pure: no page, no wallet, no clock.
 *
 * An order is one payment: for several posts, or for a post that somebody else receives.
 */

import { type Address, isAddress } from "imprint-press";
import {
  advanceSending,
  type Doubt,
  type Outcome,
  type Sending,
  type SendingEvent,
} from "../../../chain/sent-step.ts";
import type { Failure, WalletAccount } from "../../gate/reducer.ts";
import { WORDS } from "../../words.ts";
import type { CartItem } from "../store.ts";

/** A post to buy; its price is in wei, as far as this page knows. */
export interface Item {
  readonly id: string;
  readonly title: string;
  readonly price: bigint;
}

/** An order; it is stored while it may have been paid, so that a reload can continue it. */
export interface Order extends Sending {
  readonly account: Address;
  readonly receiver: Address;
  /** Whether it is a post to give away, and not the cart. */
  readonly isGift: boolean;
  /** With the prices that the buyer confirmed. */
  readonly posts: readonly CartItem[];
  readonly step: "transaction" | "mined";
}

/** The current facts about an item on the chain. */
export interface ItemFacts {
  readonly price: bigint;
  readonly author: Address;
  /** Whether the receiver holds the post. */
  readonly isHeld: boolean;
}

export type Wish =
  /** Order what the form shows; an empty receiver means the buyer. */
  | { readonly kind: "order"; readonly receiver: string }
  /** Take a post out of the cart; `receiver` is what the form says meanwhile. */
  | { readonly kind: "remove"; readonly id: string; readonly receiver: string }
  /** Continue after a failure or a reload; nothing is paid twice. */
  | { readonly kind: "continue" }
  /** Pay again; `doubted` is an earlier payment that may still arrive, as the buyer was told. */
  | { readonly kind: "again"; readonly doubted: Order };

export type Shown =
  | { readonly kind: "form"; readonly note: string | null; readonly isBusy: boolean }
  | {
      readonly kind: "steps";
      readonly buyer: WalletAccount;
      readonly order: Order;
      readonly note: string | null;
    }
  | { readonly kind: "doubt"; readonly order: Order; readonly doubt: Doubt }
  | { readonly kind: "failure"; readonly sentence: string }
  | { readonly kind: "another-tab" }
  | { readonly kind: "done"; readonly order: Order };

interface Asked {
  readonly doubted: Order | null;
  /** Whether the buyer has confirmed what the form shows. */
  readonly isConfirmed: boolean;
}

type Phase =
  | { readonly kind: "idle" }
  | ({ readonly kind: "connecting" } & Asked)
  | ({ readonly kind: "locking"; readonly buyer: WalletAccount } & Asked)
  | { readonly kind: "preparing"; readonly buyer: WalletAccount }
  | { readonly kind: "paying"; readonly buyer: WalletAccount; readonly order: Order };

export interface OrderState {
  readonly items: readonly Item[];
  /** Whether somebody else must be named as the receiver. */
  readonly isGift: boolean;
  /** As entered. */
  readonly receiver: string;
  readonly phase: Phase;
  /** Counts started phases: results of earlier phases are dropped. */
  readonly turn: number;
  readonly shown: Shown;
}

export type Effect =
  | { readonly type: "connect" }
  /** Make this the only tab that orders for the account. */
  | { readonly type: "lock"; readonly buyer: WalletAccount }
  | { readonly type: "unlock" }
  /** Read prices and holders, and whether the account can pay. */
  | { readonly type: "prepare"; readonly buyer: WalletAccount; readonly receiver: Address }
  /** Have the wallet pay, or find out what happened to a payment. */
  | { readonly type: "pay"; readonly buyer: WalletAccount }
  | { readonly type: "keep"; readonly account: Address; readonly order: Order | null }
  /** The posts are bought or unwanted: they leave the cart. */
  | { readonly type: "drop"; readonly posts: readonly string[] };

export type Result =
  | { readonly type: "connected"; readonly buyer: WalletAccount }
  | { readonly type: "locked"; readonly kept: Order | null }
  | { readonly type: "lock-taken" }
  /** In the order of the items. */
  | { readonly type: "prepared"; readonly facts: readonly ItemFacts[] }
  | { readonly type: "moved"; readonly event: SendingEvent }
  | { readonly type: "noted"; readonly note: string | null }
  | { readonly type: "settled"; readonly outcome: Outcome }
  | { readonly type: "failed"; readonly failure: Failure };

export type OrderEvent =
  | { readonly type: "clicked"; readonly wish: Wish }
  | (Result & { readonly turn: number });

export type Next = readonly [OrderState, readonly Effect[]];

const IDLE: Phase = { kind: "idle" };

export const newOrder = (items: readonly Item[], isGift: boolean): OrderState => ({
  items,
  isGift,
  receiver: "",
  phase: IDLE,
  turn: 0,
  shown: { kind: "form", note: null, isBusy: false },
});

/** The total price of all items, in wei. */
export const totalOf = (items: readonly (Item | CartItem)[]): bigint =>
  items.reduce((sum, { price }) => sum + BigInt(price), 0n);

/** Whether the buyer receives the posts. */
export const isOwn = ({ account, receiver }: Pick<Order, "account" | "receiver">): boolean =>
  account.toLowerCase() === receiver.toLowerCase();

/** The order after an event, and the effects to run. */
export function reduce(state: OrderState, event: OrderEvent): Next {
  if (event.type === "clicked") return click(state, event.wish);
  return event.turn === state.turn ? advance(state, event) : [state, []];
}

function click(state: OrderState, wish: Wish): Next {
  if (state.phase.kind !== "idle") return [state, []];
  if (wish.kind === "remove") return remove(state, wish);
  const receiver = wish.kind === "order" ? wish.receiver.trim() : state.receiver;
  const named = { ...state, receiver };
  const mistake = wish.kind === "order" ? findMistake(named) : null;
  if (mistake !== null) return showForm(named, mistake);
  const doubted = wish.kind === "again" ? wish.doubted : null;
  // What is continued was confirmed, unless this order is only continued because of a stored one.
  const isConfirmed = wish.kind !== "continue" || state.turn > 0;
  const phase = { kind: "connecting", doubted, isConfirmed } as const;
  return begin(busy(named), phase, { type: "connect" });
}

function remove(state: OrderState, { id, receiver }: Wish & { kind: "remove" }): Next {
  const items = state.items.filter((item) => item.id !== id);
  const note = items.length === 0 ? WORDS.cartEmpty : null;
  return showForm({ ...state, items, receiver }, note, [{ type: "drop", posts: [id] }]);
}

/** What is wrong with the form. A checksum that does not match is a typing error. */
function findMistake({ items, isGift, receiver }: OrderState): string | null {
  if (items.length === 0) return WORDS.cartEmpty;
  if (receiver === "") return isGift ? WORDS.nameReceiver : null;
  return isAddress(receiver) ? null : WORDS.receiverInvalid;
}

function advance(state: OrderState, result: Result): Next {
  const { phase } = state;
  if (result.type === "failed") return fail(state, result.failure);
  switch (phase.kind) {
    case "connecting":
      if (result.type === "connected") {
        const { buyer } = result;
        return begin(state, { ...phase, kind: "locking", buyer }, { type: "lock", buyer });
      }
      break;
    case "locking":
      if (result.type === "lock-taken") return [idle(state, { kind: "another-tab" }), []];
      if (result.type === "locked") return continueOrder(state, phase, result.kept);
      break;
    case "preparing":
      if (result.type === "prepared") return checkItems(state, phase.buyer, result.facts);
      break;
    case "paying":
      if (result.type === "moved") return move(state, phase, result.event);
      if (result.type === "noted") return [{ ...state, shown: stepsOf(phase, result.note) }, []];
      if (result.type === "settled") return settle(state, phase.order, result.outcome);
      break;
    default:
  }
  return [state, []];
}

/**
 * An order that may have been paid is finished before another one begins, unless the buyer wants
 * to pay again: then the earlier order is forgotten, so that it does not block later ones.
 */
function continueOrder(
  state: OrderState,
  { buyer, doubted, isConfirmed }: Phase & { kind: "locking" },
  kept: Order | null,
): Next {
  const isDoubted = kept !== null && JSON.stringify(kept) === JSON.stringify(doubted);
  if (kept?.asked && !isDoubted) return pay(state, buyer, kept);
  // The stored order was another account's, or has been finished.
  if (!isConfirmed) return showForm(state, WORDS.noOrderUnfinished, UNLOCK);
  const asked = doubted ? repeat(state, doubted) : state;
  if (asked.items.length === 0) return showForm(asked, WORDS.cartEmpty, UNLOCK);
  const prepare: Effect = { type: "prepare", buyer, receiver: receiverOf(asked, buyer) };
  const effects = isDoubted ? [forget(kept), prepare] : [prepare];
  return begin(asked, { kind: "preparing", buyer }, ...effects);
}

/** An earlier order as a new one. Its prices are read again, and confirmed by the buyer. */
const repeat = (state: OrderState, { posts, account, receiver, isGift }: Order): OrderState => ({
  ...state,
  isGift,
  items: posts.map((post) => ({ ...post, price: 0n })),
  receiver: receiver === account && !isGift ? "" : receiver,
});

/** The buyer confirms the posts and the total price; changes are shown first. */
function checkItems(state: OrderState, buyer: WalletAccount, facts: readonly ItemFacts[]): Next {
  const receiver = receiverOf(state, buyer);
  const known = state.items.map((item, place) => ({ item, ...facts[place] }));
  const isNeeded = ({ isHeld, author }: Partial<ItemFacts>) =>
    !isHeld && author?.toLowerCase() !== receiver.toLowerCase();
  const items = known
    .filter(isNeeded)
    .map(({ item, price }) => ({ ...item, price: price ?? item.price }));
  if (items.length < state.items.length) {
    const note = isOwn({ account: buyer.address, receiver })
      ? WORDS.youHaveSome
      : WORDS.receiverHasSome;
    return showForm({ ...state, items }, note, UNLOCK);
  }
  if (totalOf(items) !== totalOf(state.items))
    return showForm({ ...state, items }, WORDS.pricesChanged, UNLOCK);
  return pay({ ...state, items }, buyer, {
    account: buyer.address,
    receiver,
    isGift: state.isGift,
    posts: items.map((item) => ({ ...item, price: item.price.toString() })),
    step: "transaction",
    asked: null,
    transaction: null,
  });
}

function pay(state: OrderState, buyer: WalletAccount, order: Order): Next {
  const phase = { kind: "paying", buyer, order } as const;
  return begin({ ...state, shown: stepsOf(phase) }, phase, { type: "pay", buyer });
}

function move(state: OrderState, phase: Phase & { kind: "paying" }, event: SendingEvent): Next {
  const order: Order = { ...phase.order, ...advanceSending(phase.order, event) };
  const moved = { ...phase, order };
  return [
    { ...state, phase: moved, shown: stepsOf(moved) },
    [order.asked ? { type: "keep", account: order.account, order } : forget(order)],
  ];
}

function settle(state: OrderState, order: Order, outcome: Outcome): Next {
  switch (outcome.kind) {
    case "done":
    case "mined": {
      const posts = order.posts.map(({ id }) => id);
      const dropped: Effect[] = order.isGift && !isOwn(order) ? [] : [{ type: "drop", posts }];
      return [idle(state, { kind: "done", order }), [forget(order), ...dropped, ...UNLOCK]];
    }
    case "doubt":
      return [idle(state, { kind: "doubt", order, doubt: outcome.doubt }), UNLOCK];
    default: {
      const sentence = outcome.kind === "refused" ? outcome.sentence : WORDS.orderFailedChain;
      return [idle(state, { kind: "failure", sentence }), [forget(order), ...UNLOCK]];
    }
  }
}

function fail(state: OrderState, { sentence, isCancelled }: Failure): Next {
  if (isCancelled) return showForm(state, sentence, UNLOCK);
  return [idle(state, { kind: "failure", sentence }), UNLOCK];
}

const stepsOf = (
  { buyer, order }: Phase & { kind: "paying" },
  note: string | null = null,
): Shown => ({
  kind: "steps",
  buyer,
  order,
  note,
});

const UNLOCK: readonly Effect[] = [{ type: "unlock" }];

const receiverOf = ({ receiver }: OrderState, { address }: WalletAccount): Address =>
  receiver === "" ? address : (receiver as Address);

const forget = ({ account }: Order): Effect => ({ type: "keep", account, order: null });

const begin = (state: OrderState, phase: Phase, ...effects: Effect[]): Next => [
  { ...state, phase, turn: state.turn + 1 },
  effects,
];

const idle = (state: OrderState, shown: Shown): OrderState => ({ ...state, phase: IDLE, shown });

const busy = (state: OrderState): OrderState => ({
  ...state,
  shown: { kind: "form", note: null, isBusy: true },
});

const showForm = (
  state: OrderState,
  note: string | null,
  effects: readonly Effect[] = [],
): Next => [idle(state, { kind: "form", note, isBusy: false }), effects];
