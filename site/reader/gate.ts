/** The gate before the text of a paid post: who may read, reads; others can buy. */

import { effect } from "@preact/signals-core";
import { Refusal } from "imprint-press";
import { isHolder } from "../chain/marketplace.ts";
import { type Purchase, purchaseKey } from "../chain/purchase.ts";
import { button, type Child, fill, h } from "../page/dom.ts";
import { facts } from "../page/facts.ts";
import { notify } from "../page/notices.ts";
import { reader } from "../page/session.ts";
import { recall } from "../page/storage.ts";
import { readChain } from "../wallet/chains.ts";
import { reconnect } from "../wallet/connection.ts";
import {
  type Account,
  AccountChanged,
  account,
  explain,
  session,
  signIn,
  withSession,
} from "../wallet/index.ts";
import { buy, continuePurchase } from "./checkout.ts";
import { showOffer as drawOffer, type Offer } from "./offer.ts";

/** What a click asks for: to buy, or to open what is held. */
export type Wish = "buy" | "open";

export interface Gate {
  readonly postId: string;
  readonly author: string;
  readonly offer: Offer;
  readonly place: HTMLElement;
  /** What a click asked for, while it is under way: a change of the session does not draw the gate
   *  anew then. */
  task: Wish | null;
  /** Counts looks and clicks: a look that took longer than the next one draws nothing. */
  turn: number;
  /** Who opened the text; null while it is closed. */
  openFor: string | null;
}

/** Show the gate, and follow the account and the session.
 *
 * `wish` is what the click that loaded it asked for. The result grants those of later clicks: the
 * page's own offer stays until the first look at the account is drawn.
 */
export async function openGate(
  post: HTMLElement,
  offer: Offer,
  wish: Wish | null,
): Promise<(wish: Wish) => void> {
  const { id = "", author = "" } = post.dataset;
  const { place } = offer;
  const gate: Gate = { postId: id, author, offer, place, task: null, turn: 0, openFor: null };
  const grant = (asked: Wish) => {
    if (gate.task === null && gate.openFor === null)
      void (asked === "buy" ? buy(gate) : attemptOpen(gate));
  };
  await reconnect().catch(() => null);
  if (wish) grant(wish);
  effect(() => {
    const [connected, held] = [account.value, session.value];
    // The text of one account is not left open for the next one, nor after signing out. It stays
    // open when only the session ends.
    if (gate.openFor !== null && !isSame(present(), gate.openFor)) closeText(gate);
    if (gate.task === null && gate.openFor === null) void show(gate, connected, held !== null);
  });
  return grant;
}

/** A click asked for something: what it does is shown, and nothing that was looked up before.
 *
 * The result ends that, unless something else has taken over meanwhile.
 */
export function takeOver(gate: Gate, task: Wish): () => void {
  gate.task = task;
  gate.turn += 1;
  const { turn } = gate;
  return () => {
    if (gate.turn === turn) gate.task = null;
  };
}

/** Show how things stand now; after a refusal by its owner, also what the wallet was asked. */
export function redraw(gate: Gate, refusal: unknown): Promise<void> {
  // From here on, a change of the account or the session draws anew.
  gate.task = null;
  const note =
    refusal !== null && h("p", { class: "gate-status", role: "alert" }, explain(refusal).sentence);
  return show(gate, account.value, session.value !== null, note);
}

async function show(
  gate: Gate,
  connected: Account | null,
  isSignedIn: boolean,
  note: Child = null,
): Promise<void> {
  gate.turn += 1;
  const { turn } = gate;
  const begun = connected && recall<Purchase>(purchaseKey(gate.postId, connected.address));
  if (connected && begun) return continuePurchase(gate, connected, note && unsigned());
  const isAuthor = connected?.address.toLowerCase() === gate.author.toLowerCase();
  if (isSignedIn) {
    try {
      return await openText(gate, false);
    } catch (error) {
      const code = error instanceof Refusal ? error.code : null;
      // The end of the session draws the gate anew; here it is only told.
      if (code?.startsWith("session_"))
        return void notify({ kind: "info", text: explain(error).sentence });
      // The change or a click has drawn the gate anew.
      if (error instanceof AccountChanged || gate.turn !== turn) return;
      if (code !== "not_entitled") return showFailure(gate, error);
    }
  } else if (connected) {
    const isHeld = isAuthor || (await holds(gate, connected));
    if (account.value !== connected || gate.turn !== turn) return;
    if (isHeld) return showHeld(gate, isAuthor, note);
  }
  showOffer(gate, note);
}

/** What is said instead of "nothing was sent" when the purchase is on the chain already. */
const unsigned = (): HTMLElement =>
  h(
    "p",
    { class: "gate-status", role: "alert" },
    "You declined to sign in. The post stays yours: sign in whenever you want to read it.",
  );

/** Whether the account holds the post, as far as its wallet can tell without a prompt. */
async function holds(gate: Gate, { provider, address }: Account): Promise<boolean> {
  try {
    if ((await readChain(provider)) !== facts.chain.id) return false;
    return await isHolder(provider, address, gate.postId);
  } catch {
    return false;
  }
}

/** The price, and the one button. */
export function showOffer(gate: Gate, ...notes: Child[]): void {
  const open = session.value === null && { open: () => void attemptOpen(gate) };
  drawOffer(gate.offer, { buy: () => void buy(gate), ...open }, ...notes);
}

function showHeld(gate: Gate, isAuthor: boolean, note: Child): void {
  fill(
    gate.place,
    h("h2", null, isAuthor ? "You wrote this" : "You hold this"),
    h(
      "p",
      null,
      "Sign in to read it. The signature is free: it only proves that the account is yours.",
    ),
    note,
    h(
      "p",
      { class: "gate-actions" },
      button("Sign in and read", () => void attemptOpen(gate), { class: "button primary" }),
    ),
  );
}

/** What went wrong, and the way on. */
export function showFailure(
  gate: Gate,
  error: unknown,
  again = () => void attemptOpen(gate),
): void {
  const { sentence, action, isCancelled } = explain(error);
  const label = action === "sign-in" ? "Sign in" : action === "reload" ? "Reload" : "Try again";
  fill(
    gate.place,
    h("h2", null, "Not open yet"),
    h(
      "p",
      { class: "gate-status", role: "alert", "data-kind": isCancelled ? "info" : "bad" },
      sentence,
    ),
    h(
      "p",
      { class: "gate-actions" },
      button(label, () => (action === "reload" ? location.reload() : again()), {
        class: "button primary",
      }),
    ),
  );
}

/** Sign in if that is needed, and open the text; a click asked for it. */
async function attemptOpen(gate: Gate): Promise<void> {
  const release = takeOver(gate, "open");
  try {
    await signIn();
    await withSession(() => openText(gate, true));
  } catch (error) {
    if (error instanceof Refusal && error.code === "not_entitled")
      showOffer(gate, h("p", { class: "gate-status", role: "alert" }, explain(error).sentence));
    else if (explain(error).isCancelled) await redraw(gate, error);
    else showFailure(gate, error);
  } finally {
    release();
  }
}

/** Who reads on this page now; undefined if nobody does. */
const present = (): string | undefined => (session.value ?? account.value)?.address;

/** Put the text in the place of the gate. Throws `Refusal` if the session may not read it, and
 *  `AccountChanged` if its reader has left meanwhile. */
export async function openText(gate: Gate, isFocused: boolean): Promise<void> {
  const asked = present() ?? "";
  const html = await reader.readPostHtml(gate.postId);
  if (!isSame(present(), asked)) throw new AccountChanged();
  const text = document.getElementById("text");
  if (!text) return;
  // The service sanitised it, and a template runs and loads nothing.
  const template = document.createElement("template");
  template.innerHTML = html;
  text.replaceChildren(template.content);
  text.hidden = false;
  gate.openFor = asked;
  const isAuthor = isSame(asked, gate.author);
  gate.place.classList.add("gate-open");
  fill(
    gate.place,
    h("p", { class: "gate-held", role: "status" }, isAuthor ? "You wrote this" : "You hold this"),
  );
  if (!isFocused) return;
  text.tabIndex = -1;
  text.focus();
}

const isSame = (one: string | undefined, other: string): boolean =>
  one?.toLowerCase() === other.toLowerCase();

function closeText(gate: Gate): void {
  gate.openFor = null;
  gate.place.classList.remove("gate-open");
  const text = document.getElementById("text");
  text?.replaceChildren();
  text?.toggleAttribute("hidden", true);
}
