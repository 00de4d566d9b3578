/** The account menu in the header. */

import { computed, effect } from "@preact/signals-core";
import type { Address } from "imprint-press";
import { readFunds } from "../chain/node.ts";
import { copyText } from "../page/clipboard.ts";
import { button, type Child, fill, h, keepingFocus } from "../page/dom.ts";
import { isDevelopment } from "../page/facts.ts";
import { balance, short } from "../page/format.ts";
import { announce, notify } from "../page/notices.ts";
import { type Account, account, explain, session, signIn, signOut } from "../wallet/index.ts";
import { loadName, nameOf } from "../wallet/profile-name.ts";
import { sampleItem } from "./samples.ts";
import { WORDS } from "./words.ts";

export { reconnect } from "../wallet/connection.ts";

/** Show the menu in this element, now and whenever the account or the session changes. */
export function showAccountMenu(place: HTMLElement): void {
  const address = computed(() => account.value?.address ?? session.value?.address);
  const name = computed(() => (address.value ? nameOf(address.value) : null));
  effect(() => {
    const [connected, owner] = [account.value, address.value];
    const isSignedIn = session.value !== null;
    const isOpen = place.querySelector("details")?.open ?? false;
    const shown = owner ? menu(connected, owner, name.value, isSignedIn, isOpen) : signInButton();
    keepingFocus(place, () => fill(place, shown));
  });
  effect(() => void loadName(address.value ?? null));
  document.addEventListener("click", ({ target }) => {
    if (target instanceof Node && !place.contains(target)) close(place);
  });
  place.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    close(place);
    place.querySelector("summary")?.focus();
  });
}

/** Run the action of a click, and report a failure. */
export async function attempt(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const { sentence, isCancelled, action } = explain(error);
    if (isCancelled) announce(sentence);
    else if (action === "retry" || action === "sign-in")
      notify({
        kind: "bad",
        text: sentence,
        action: { label: WORDS.tryAgain, run: () => void attempt(work) },
      });
    else notify({ kind: "bad", text: sentence });
  }
}

/** Sign in after a click. */
export const attemptSignIn = (): Promise<void> => attempt(signIn);

const signInButton = (): HTMLElement =>
  button(WORDS.signIn, () => void attemptSignIn(), { class: "button" });

function menu(
  connected: Account | null,
  address: Address,
  name: string | null,
  isSignedIn: boolean,
  isOpen: boolean,
): HTMLElement {
  const funds = h("span", { class: "account-funds" });
  const details = h(
    "details",
    { class: "account", open: isOpen },
    h(
      "summary",
      { title: address },
      h("span", { class: "unseen" }, WORDS.account(connected?.name ?? "")),
      h("span", { class: "account-dot", "data-on": isSignedIn, "aria-hidden": "true" }),
      name === null ? short(address) : h("bdi", { class: "account-known" }, name),
    ),
    h("div", { class: "account-panel" }, ...panel(connected, address, isSignedIn, funds)),
  );
  details.addEventListener("toggle", () => {
    if (details.open && connected) void showFunds(connected, funds);
  });
  return details;
}

function panel(
  connected: Account | null,
  address: Address,
  isSignedIn: boolean,
  funds: HTMLElement,
): Child[] {
  return [
    h("p", { class: "account-name" }, connected?.name ?? WORDS.signedIn, funds),
    h("p", { class: "account-address" }, h("code", null, address)),
    !connected && h("p", { class: "hint" }, WORDS.walletLockedOrMissing),
    !isSignedIn && item(WORDS.signReadWhatOwn, signIn),
    item(WORDS.copyAddress, () => copy(address)),
    item(WORDS.switchAccount, switchAccount),
    isDevelopment && sampleItem(),
    item(WORDS.signOut, () => leave(WORDS.youreSignedOutDevice, false)),
    isSignedIn && item(WORDS.signOutEveryDevice, () => leave(WORDS.youreSignedOutEvery, true)),
  ];
}

const item = (label: string, work: () => Promise<unknown>): HTMLElement =>
  button(label, () => void attempt(work), { class: "account-item" });

async function switchAccount(): Promise<void> {
  const { chooseAccount } = await import("../wallet/chooser.ts");
  await chooseAccount();
  await signIn();
}

async function leave(text: string, all: boolean): Promise<void> {
  await signOut({ all });
  notify({ kind: "good", text });
}

async function copy(address: string): Promise<void> {
  await copyText(address);
  notify({ kind: "good", text: WORDS.addressCopied });
}

async function showFunds(connected: Account, place: HTMLElement): Promise<void> {
  try {
    place.textContent = balance(await readFunds(connected.provider, connected.address));
  } catch {
    place.textContent = "";
  }
}

const close = (place: Element): void => place.querySelector("details")?.removeAttribute("open");
