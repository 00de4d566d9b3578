/**
 * Runs on every page. Wallet code is loaded with the first click that needs it, or at once if this
 * browser knows an account.
 */

import { button, fill } from "../page/dom.ts";
import { facts, isDevelopment } from "../page/facts.ts";
import { notify } from "../page/notices.ts";
import { ACCOUNT_EVENT, CHOICE_KEY, onOtherTab, recall, SESSION_KEY } from "../page/storage.ts";
import { readOffer, showOffer } from "./gate/offer.ts";
import type { Wish } from "./gate/reducer.ts";
import { offerSharing } from "./share.ts";
import { showThemeSwitch } from "./theme-switch.ts";
import { WORDS } from "./words.ts";

const find = (id: string): HTMLElement | null => document.getElementById(id);

/** Run a part of the page once its script is loaded. */
function load<T>(part: Promise<T>, run: (part: T) => unknown): void {
  part.then(run, () =>
    notify({
      kind: "bad",
      text: WORDS.partPageCouldntLoad,
      action: { label: WORDS.reload, run: () => location.reload() },
    }),
  );
}

let isStarted = false;

/** Show the account menu and the marks of held posts, once. */
function start(): void {
  if (isStarted) return;
  isStarted = true;
  load(import("./account.ts"), ({ reconnect, showAccountMenu }) => {
    const place = find("account");
    if (place) showAccountMenu(place);
    return reconnect();
  });
  const own = find("post");
  if (own) load(import("./own-post.ts"), ({ showOwnPost }) => showOwnPost(own));
  // At a gate, the end of the session is reported by the gate: nothing else uses it first.
  if (document.querySelector(".card") && !find("gate"))
    load(import("./marks.ts"), ({ markCards }) => markCards());
}

function showSignIn(place: HTMLElement): void {
  const signIn = () => load(import("./account.ts"), ({ attemptSignIn }) => attemptSignIn());
  fill(place, button(WORDS.signIn, signIn, { class: "button" }));
}

function showGate(post: HTMLElement, place: HTMLElement): void {
  const offer = readOffer(post, place);
  let opening: Promise<(wish: Wish) => void> | null = null;
  const open = (wish: Wish | null) => {
    if (opening) return load(opening, (grant) => wish && grant(wish));
    opening = import("./gate/index.ts").then(({ openGate }) => openGate(post, offer, wish));
    load(opening, () => undefined);
  };
  if (isKnown) open(null);
  else {
    showOffer(offer, { buy: () => open({ kind: "buy" }), open: () => open({ kind: "open" }) });
    // Signed in through the menu, or in another tab.
    document.addEventListener(ACCOUNT_EVENT, () => open(null), { once: true });
  }
}

const isKnown = [SESSION_KEY, CHOICE_KEY].some((key) => recall(key) !== null);

const footer = document.querySelector("footer.bottom");
if (footer) showThemeSwitch(footer);

const account = find("account");
if (account) {
  if (isKnown) start();
  else {
    showSignIn(account);
    document.addEventListener(ACCOUNT_EVENT, start, { once: true });
    onOtherTab([SESSION_KEY, CHOICE_KEY], start);
  }
}

const post = find("post");
const gate = find("gate");
// The text of a free post is already on the page, and nothing more has to be loaded for it.
if (post && gate && post.dataset.free === "false") showGate(post, gate);

const correction = find("correction");
const versions = find("versions");
if (post && correction && versions && post.dataset.free === "false")
  load(import("./versions.ts"), ({ showVersions }) => showVersions(correction, versions));

const sharing = find("share");
if (sharing) offerSharing(sharing);

// Gifts and several posts at once need the purchase adapter.
if (facts.chain.adapter !== undefined)
  load(import("./cart/index.ts"), ({ offerCart }) =>
    offerCart(post, (cart, isGift, wish) => {
      const items = cart.map(({ id, title, price }) => ({ id, title, price: BigInt(price) }));
      load(import("./cart/order/index.ts"), ({ openOrder }) => openOrder(items, isGift, wish));
    }),
  );

const proof = find("proof");
if (post && proof) {
  const show = () => load(import("./proof.ts"), ({ showProof }) => showProof(post, proof));
  // If it was opened before this script ran, it is not opened again.
  if (proof.hasAttribute("open")) show();
  else proof.addEventListener("toggle", show, { once: true });
}

const library = find("library");
if (library) load(import("./library.ts"), ({ showLibrary }) => showLibrary(library));

const empty = find("empty");
if (empty && isDevelopment) load(import("./samples.ts"), ({ offerSamples }) => offerSamples(empty));
