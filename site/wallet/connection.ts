/** The account of this page: chosen once, and restored after a reload. */

import { batch, type ReadonlySignal, signal } from "@preact/signals-core";
import { type Address, walletOfProvider } from "imprint-press";
import { switchSession } from "../page/session.ts";
import { ACCOUNT_EVENT, CHOICE_KEY, onOtherTab, recall, remember } from "../page/storage.ts";
import { WORDS } from "../page/words.ts";
import type { Account } from "./account.ts";
import { DEVELOPMENT, developmentAccounts, developmentNode } from "./development.ts";
import { type AnnouncedWallet, type BrowserProvider, findWallet } from "./discovery.ts";
import { NoAccount } from "./failures.ts";

/** The stored choice: the wallet, and for development the address. */
interface Choice {
  wallet: string;
  address: Address;
}

const current = signal<Account | null>(null);
let stopFollowing = () => {};
let reconnecting: Promise<Account | null> | null = null;

/** The account of this page; null if none is connected. */
export const account: ReadonlySignal<Account | null> = current;

/** Reconnect to the earlier choice, without a prompt. Returns null if that fails. */
export function reconnect(): Promise<Account | null> {
  reconnecting ??= reconnectOnce().finally(() => {
    reconnecting = null;
  });
  return reconnecting;
}

async function reconnectOnce(): Promise<Account | null> {
  const choice = recall<Choice>(CHOICE_KEY);
  if (choice === null) return null;
  // A slow wallet must not undo a choice made meanwhile, here or in another tab.
  const isOld = () => JSON.stringify(recall(CHOICE_KEY)) !== JSON.stringify(choice);
  if (choice.wallet === DEVELOPMENT) {
    const accounts = await developmentAccounts().catch(() => []);
    if (isOld()) return reconnectOnce();
    const same = accounts.find(({ address }) => address === choice.address);
    return same ? useDevelopmentAccount(same) : null;
  }
  const wallet = await findWallet(choice.wallet);
  const allowed = wallet ? await readAccounts(wallet, "eth_accounts").catch(() => []) : [];
  if (isOld()) return reconnectOnce();
  const same = allowed.find((each) => each.toLowerCase() === choice.address.toLowerCase());
  const address = same ?? allowed[0];
  return wallet && address ? use(wallet, address) : null;
}

/** Ask a wallet for its account, which may prompt its owner. Throws what the wallet throws. */
export async function connectWallet(wallet: AnnouncedWallet): Promise<Account> {
  const [address] = await readAccounts(wallet, "eth_requestAccounts");
  if (!address) throw new NoAccount(WORDS.walletSharesNoAccount);
  return use(wallet, address);
}

/** Use an account of the development chain. */
export function useDevelopmentAccount(chosen: Account): Account {
  stopFollowing();
  stopFollowing = () => {};
  return show(chosen, DEVELOPMENT);
}

/** Forget the account, on this page and in the other tabs. */
export function disconnect(): void {
  remember(CHOICE_KEY, null);
  stopFollowing();
  current.value = null;
}

/** Whether the account is one of the development chain, which signs without a prompt. */
export const isDevelopmentAccount = (each: Account): boolean => each.provider === developmentNode;

async function readAccounts(wallet: AnnouncedWallet, method: string): Promise<Address[]> {
  const accounts = await wallet.provider.request({ method });
  return Array.isArray(accounts) ? (accounts as Address[]) : [];
}

function use(wallet: AnnouncedWallet, address: Address): Account {
  stopFollowing();
  stopFollowing = follow(wallet.provider, ([next]) => {
    if (!next) disconnect();
    else if (next.toLowerCase() !== current.value?.address.toLowerCase()) use(wallet, next);
  });
  const { name, icon, provider } = wallet;
  return show(
    { address, wallet: walletOfProvider(provider, address), provider, name, icon },
    wallet.id,
  );
}

function show(shown: Account, wallet: string): Account {
  const before = current.value;
  // If it is the account already shown, nothing is redrawn.
  if (before?.provider === shown.provider && before.address === shown.address) return before;
  remember(CHOICE_KEY, { wallet, address: shown.address } satisfies Choice);
  // Synchronously: nobody sees one account with the session of the other.
  batch(() => {
    switchSession(shown.address);
    current.value = shown;
  });
  document.dispatchEvent(new Event(ACCOUNT_EVENT));
  return shown;
}

/** Listen to account changes of the wallet until the returned function is called. */
function follow(provider: BrowserProvider, changed: (accounts: Address[]) => void): () => void {
  const listener = (accounts: Address[]) => changed(Array.isArray(accounts) ? accounts : []);
  provider.on?.("accountsChanged", listener);
  return () => provider.removeListener?.("accountsChanged", listener);
}

onOtherTab([CHOICE_KEY], () => {
  const choice = recall<Choice>(CHOICE_KEY);
  if (choice === null) {
    stopFollowing();
    current.value = null;
  } else if (choice.address !== current.value?.address) void reconnect();
});
