/**
 * Runs the effects of the gate: calls the wallet, the chain and the service, and reports the
 * results.
 */

import { type Address, buyPostCall } from "imprint-press";
import { isHolder, readPrice } from "../../chain/marketplace.ts";
import { chainOf, RETRY_PORTS, readFunds } from "../../chain/node.ts";
import { type Purchase, purchaseKey } from "../../chain/purchase.ts";
import { Retries } from "../../chain/retries.ts";
import { SentStep } from "../../chain/sent-step.ts";
import { facts } from "../../page/facts.ts";
import { lockIsFree, takeLock } from "../../page/locks.ts";
import { notify } from "../../page/notices.ts";
import { reader, session } from "../../page/session.ts";
import { recall, remember } from "../../page/storage.ts";
import { readChain } from "../../wallet/chains.ts";
import {
  type Account,
  AccountChanged,
  account,
  connect,
  hasSentNothing,
  TooLittle,
  withSession,
} from "../../wallet/index.ts";
import { expectPresent, failureOf, switched, walletAccount } from "../buyer.ts";
import type { Offer } from "./offer.ts";
import type { Effect, GateEvent, GateState, Result, WalletAccount } from "./reducer.ts";

interface GatePorts {
  readonly postId: string;
  readonly offer: Offer;
  readonly state: () => GateState;
  /** Reports the result of an effect to the gate at once. */
  readonly tell: (event: GateEvent) => void;
}

/** Runs the effects of one gate; results are reported with the turn in which they began. */
export function runEffects(ports: GatePorts): (effect: Effect, turn: number) => void {
  const { postId, offer, state, tell } = ports;
  let unlock = () => {};
  const keyOf = (address: Address) => purchaseKey(postId, address);
  const kept = (address: Address) => recall<Purchase>(keyOf(address));

  async function look(asks: "text" | "holder" | "nothing"): Promise<Result> {
    const connected = account.value;
    if (connected && kept(connected.address)) return { type: "looked", found: "begun" };
    if (asks === "text") return readText();
    const isHeld = asks === "holder" && connected !== null && (await holds(connected));
    return { type: "looked", found: isHeld ? "held" : "not-held" };
  }

  /** Whether the account holds the post, as far as its wallet can tell without a prompt. */
  async function holds({ provider, address }: Account): Promise<boolean> {
    try {
      if ((await readChain(provider)) !== facts.chain.id) return false;
      return await isHolder(provider, address, postId);
    } catch {
      return false;
    }
  }

  async function readText(): Promise<Result> {
    const asked = present();
    const html = await reader.readPostHtml(postId);
    if (!asked || present()?.toLowerCase() !== asked.toLowerCase()) throw new AccountChanged();
    return { type: "text", html, reader: asked };
  }

  async function lock(address: Address): Promise<Result> {
    const release = await takeLock(keyOf(address));
    if (!release) return { type: "lock-taken" };
    unlock = release;
    return { type: "locked", kept: kept(address) };
  }

  async function prepare(buyer: WalletAccount): Promise<Result> {
    const { provider, address } = await switched(buyer);
    const [price, isHeld, funds] = await Promise.all([
      readPrice(provider, postId),
      isHolder(provider, address, postId),
      readFunds(provider, address).catch(() => null),
    ]);
    const isAuthor = state().author.toLowerCase() === address.toLowerCase();
    // A purchase that has begun may have been paid already.
    if (!isHeld && !isAuthor && !kept(address) && funds !== null && funds <= price)
      throw new TooLittle(price, funds);
    return { type: "prepared", price, isHeld };
  }

  async function pay(buyer: WalletAccount, turn: number): Promise<Result> {
    const retries = new Retries(RETRY_PORTS);
    const purchase = () => purchaseIn(state());
    const provider = () => expectPresent(buyer).provider;
    const step = new SentStep({
      chain: chainOf(buyer.address, provider),
      retries,
      sending: purchase,
      move: (event) => tell({ type: "moved", event, turn }),
      call: () =>
        buyPostCall(facts.chain.marketplace, postId, BigInt(purchase().price), facts.chain.id),
      switchChain: async () => void (await switched(buyer)),
      send: (call) => expectPresent(buyer).wallet.sendTransaction(call),
      hasSentNothing: (error) => error instanceof AccountChanged || hasSentNothing(error),
      isDone: () => retries.ask(() => isHolder(provider(), buyer.address, postId)),
    });
    const unsubscribe = retries.note.subscribe((note) => tell({ type: "noted", note, turn }));
    return { type: "settled", outcome: await step.run().finally(unsubscribe) };
  }

  function start(effect: Effect, turn: number): Promise<Result> | null {
    switch (effect.type) {
      case "look":
        return look(effect.asks);
      case "read":
        return withSession(() => {
          if (effect.buyer) expectPresent(effect.buyer);
          return readText();
        });
      case "connect":
        return connect().then((chosen) => ({ type: "connected", buyer: walletAccount(chosen) }));
      case "resume":
        if (!kept(effect.buyer.address)) return Promise.resolve({ type: "resumed", isKept: false });
        return switched(effect.buyer).then(() => ({ type: "resumed", isKept: true }));
      case "lock":
        return lock(effect.buyer.address);
      case "await-lock":
        return lockIsFree(keyOf(effect.buyer.address)).then(() => ({ type: "lock-free" }));
      case "prepare":
        return prepare(effect.buyer);
      case "pay":
        return pay(effect.buyer, turn);
      case "pause":
        return RETRY_PORTS.pause(effect.seconds).then(() => ({ type: "paused" }));
      case "unlock":
        unlock();
        break;
      case "keep":
        remember(keyOf(effect.account), effect.purchase);
        break;
      case "show-text":
        showText(offer.place, effect.html, effect.isFocused);
        break;
      case "clear-text":
        clearText(offer.place);
        break;
      case "notify":
        notify({ kind: "info", text: effect.sentence });
        break;
      case "reload":
        location.reload();
    }
    return null;
  }

  return (effect, turn) =>
    void start(effect, turn)
      ?.catch((error): Result => ({ type: "failed", failure: failureOf(error) }))
      .then((result) => tell({ ...result, turn }));
}

function purchaseIn({ phase }: GateState): Purchase {
  if (phase.kind !== "paying") throw new TypeError("Nothing is being paid.");
  return phase.purchase;
}

/** The address of the current reader; undefined if there is none. */
const present = (): Address | undefined => (session.value ?? account.value)?.address;

function showText(place: HTMLElement, html: string, isFocused: boolean): void {
  place.classList.add("gate-open");
  const text = document.getElementById("text");
  if (!text) return;
  // The service sanitised it, and a template runs and loads nothing.
  const template = document.createElement("template");
  template.innerHTML = html;
  text.replaceChildren(template.content);
  text.hidden = false;
  if (!isFocused) return;
  text.tabIndex = -1;
  text.focus();
}

function clearText(place: HTMLElement): void {
  place.classList.remove("gate-open");
  const text = document.getElementById("text");
  text?.replaceChildren();
  text?.toggleAttribute("hidden", true);
}
