/** Runs the effects of an order: calls the wallet and the chain, and reports the results. */

import {
  type Address,
  buyManyCall,
  buyPostCall,
  type Call,
  type Hex,
  type Provider,
} from "imprint-press";
import { BatchDropped, canBatch, followBatch, sendBatch } from "../../../chain/batch.ts";
import { isHolder, readEntry } from "../../../chain/marketplace.ts";
import { chainOf, RETRY_PORTS, readFunds } from "../../../chain/node.ts";
import { findRefusal } from "../../../chain/refusals.ts";
import { Retries } from "../../../chain/retries.ts";
import { type SendingEvent, SentStep } from "../../../chain/sent-step.ts";
import { facts } from "../../../page/facts.ts";
import { takeLock } from "../../../page/locks.ts";
import { recall } from "../../../page/storage.ts";
import { AccountChanged, connect, hasSentNothing, TooLittle } from "../../../wallet/index.ts";
import { expectPresent, failureOf, switched, walletAccount } from "../../buyer.ts";
import type { WalletAccount } from "../../gate/reducer.ts";
import { dropFromCart, keepOrder, orderKey } from "../store.ts";
import {
  type Effect,
  type Item,
  isOwn,
  type Order,
  type OrderEvent,
  type OrderState,
  type Result,
  totalOf,
} from "./reducer.ts";

/** The error of EIP-5792 for a batch that the wallet does not know. */
const UNKNOWN_BATCH = 5730;

interface OrderPorts {
  readonly state: () => OrderState;
  readonly tell: (event: OrderEvent) => void;
}

/** Runs the effects of one order; results are reported with the turn in which they began. */
export function runEffects({ state, tell }: OrderPorts): (effect: Effect, turn: number) => void {
  let unlock = () => {};

  async function lock({ address }: WalletAccount): Promise<Result> {
    const release = await takeLock(orderKey(address));
    if (!release) return { type: "lock-taken" };
    unlock = release;
    return { type: "locked", kept: recall<Order>(orderKey(address)) };
  }

  async function prepare(buyer: WalletAccount, receiver: Address): Promise<Result> {
    const { provider, address } = await switched(buyer);
    const read = async ({ id }: Item) => ({
      ...(await readEntry(provider, BigInt(id))),
      isHeld: await isHolder(provider, receiver, id),
    });
    const { items } = state();
    const [found, funds] = await Promise.all([
      Promise.all(items.map(read)),
      readFunds(provider, address).catch(() => null),
    ]);
    const total = totalOf(items);
    if (funds !== null && funds <= total) throw new TooLittle(total, funds);
    return { type: "prepared", facts: found };
  }

  async function pay(buyer: WalletAccount, turn: number): Promise<Result> {
    const retries = new Retries(RETRY_PORTS);
    const order = () => orderIn(state());
    const provider = () => expectPresent(buyer).provider;
    const move = (event: SendingEvent) => tell({ type: "moved", event, turn });
    const step = new SentStep({
      chain: chainOf(buyer.address, provider),
      retries,
      sending: order,
      move,
      call: () => callOf(order()),
      switchChain: async () => void (await switched(buyer)),
      findRefusal: (call) => findRefusal(provider(), buyer.address, call),
      send: (call) => send(buyer, order(), call, move),
      followBatch: (batch) => findBatch(provider(), batch),
      hasSentNothing(error) {
        if (error instanceof BatchDropped) return true;
        // A batch that the wallet has taken may be sent, whatever it refuses afterwards.
        if (order().asked?.batch !== undefined) return false;
        return error instanceof AccountChanged || hasSentNothing(error);
      },
      isDone: () => retries.ask(() => isReceived(buyer, order())),
    });
    const unsubscribe = retries.note.subscribe((note) => tell({ type: "noted", note, turn }));
    return { type: "settled", outcome: await step.run().finally(unsubscribe) };
  }

  function start(effect: Effect, turn: number): Promise<Result> | null {
    switch (effect.type) {
      case "connect":
        return connect().then((chosen) => ({ type: "connected", buyer: walletAccount(chosen) }));
      case "lock":
        return lock(effect.buyer);
      case "prepare":
        return prepare(effect.buyer, effect.receiver);
      case "pay":
        return pay(effect.buyer, turn);
      case "unlock":
        unlock();
        break;
      case "keep":
        keepOrder(effect.account, effect.order);
        break;
      case "drop":
        dropFromCart(effect.posts);
    }
    return null;
  }

  return (effect, turn) =>
    void start(effect, turn)
      ?.catch((error): Result => ({ type: "failed", failure: failureOf(error) }))
      .then((result) => tell({ ...result, turn }));
}

function orderIn({ phase }: OrderState): Order {
  if (phase.kind !== "paying") throw new TypeError("Nothing is being paid.");
  return phase.order;
}

function callOf({ posts, receiver }: Order): Call {
  const { adapter, id } = facts.chain;
  if (adapter === undefined) throw new TypeError("The marketplace has no adapter.");
  return buyManyCall(
    adapter as Address,
    posts.map((post) => post.id),
    receiver,
    totalOf(posts),
    id,
  );
}

/**
 * A wallet with atomic batches buys the posts of its own account from the marketplace itself. Gifts
 * go through the adapter, which also buys what the payer holds already.
 */
async function send(
  buyer: WalletAccount,
  order: Order,
  call: Call,
  move: (event: SendingEvent) => void,
): Promise<Hex> {
  const { provider, wallet } = expectPresent(buyer);
  const { id, marketplace } = facts.chain;
  if (!isOwn(order) || order.posts.length < 2 || !(await canBatch(provider, buyer.address, id)))
    return wallet.sendTransaction(call);
  const calls = order.posts.map((post) =>
    buyPostCall(marketplace as Address, post.id, BigInt(post.price), id),
  );
  const batch = await sendBatch(provider, buyer.address, calls, id);
  move({ type: "batched", batch });
  return followBatch(provider, batch, RETRY_PORTS.pause);
}

/** Follow a batch of an earlier visit, unless the wallet has forgotten it. */
async function findBatch(provider: Provider, batch: string): Promise<Hex | null> {
  try {
    return await followBatch(provider, batch, RETRY_PORTS.pause);
  } catch (error) {
    if ((error as { code?: unknown }).code === UNKNOWN_BATCH) return null;
    throw error;
  }
}

/** Whether the receiver holds all posts. */
async function isReceived(buyer: WalletAccount, { posts, receiver }: Order): Promise<boolean> {
  const { provider } = expectPresent(buyer);
  const held = await Promise.all(posts.map(({ id }) => isHolder(provider, receiver, id)));
  return held.every(Boolean);
}
