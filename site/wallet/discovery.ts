/** The wallets of this browser: those that announce themselves (EIP-6963), or `window.ethereum`. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { Provider } from "imprint-press";
import { createStore, type EIP6963ProviderDetail } from "mipd";
import { WORDS } from "../page/words.ts";

/** A wallet also reports changes of its account or its chain. */
export interface BrowserProvider extends Provider {
  on?(event: string, listener: (value: never) => void): void;
  removeListener?(event: string, listener: (value: never) => void): void;
}

export interface AnnouncedWallet {
  /** The reverse domain name of the wallet, the same after a reload. */
  readonly id: string;
  readonly name: string;
  /** A picture as a data URL, or null if it is anything else. */
  readonly icon: string | null;
  readonly provider: BrowserProvider;
}

/** The pattern of pictures that are shown, with a maximum length. */
const ICON = /^data:image\/(png|jpeg|webp|gif|svg\+xml)[;,]/i;
const ICON_LENGTH = 200_000;
const NAME_LENGTH = 60;

/** The id of `window.ethereum`, for wallets that do not announce themselves. */
const INJECTED = "injected";

/** How long an earlier wallet may take to announce itself, in milliseconds. */
const PATIENCE = 1500;

const found = signal<readonly AnnouncedWallet[]>([]);

/** The wallets that have announced themselves so far. */
export const wallets: ReadonlySignal<readonly AnnouncedWallet[]> = found;

/**
 * The only wallet with this id. Null if there is none, or if several claim it: then only their
 * owner can tell which is meant.
 */
export function onlyWallet(
  announced: readonly AnnouncedWallet[],
  id: string,
): AnnouncedWallet | null {
  const [first, ...others] = announced.filter((each) => each.id === id);
  return first && others.length === 0 ? first : null;
}

/** A wallet by its id, as soon as it announces itself; null if it does not, or is not unique. */
export function findWallet(id: string): Promise<AnnouncedWallet | null> {
  return new Promise((resolve) => {
    const seek = () => onlyWallet(found.value, id);
    const timer = setTimeout(() => finish(seek()), PATIENCE);
    const stop = found.subscribe(() => {
      const wallet = seek();
      // Not synchronously: `subscribe` calls back before it returns how to stop.
      if (wallet) queueMicrotask(() => finish(seek()));
    });
    function finish(wallet: AnnouncedWallet | null): void {
      clearTimeout(timer);
      stop();
      resolve(wallet);
    }
  });
}

/** What is shown of a wallet. Its name and picture are untrusted, so they are checked. */
export function describe({ info, provider }: EIP6963ProviderDetail): AnnouncedWallet {
  const name = String(info.name).trim().slice(0, NAME_LENGTH) || WORDS.aWallet;
  return {
    id: String(info.rdns),
    name,
    icon: safeIcon(info.icon),
    provider: provider as unknown as BrowserProvider,
  };
}

/** A picture that may be shown: a data URL of an image of a reasonable size. */
export function safeIcon(icon: unknown): string | null {
  const text = typeof icon === "string" ? icon.trim() : "";
  return text.length <= ICON_LENGTH && ICON.test(text) ? text : null;
}

function injected(): AnnouncedWallet[] {
  const provider = (window as { ethereum?: BrowserProvider }).ethereum;
  if (typeof provider?.request !== "function") return [];
  return [{ id: INJECTED, name: WORDS.browserWallet, icon: null, provider }];
}

const store = createStore();
store.subscribe(
  (details) => {
    const announced = details.map(describe);
    found.value = announced.length > 0 ? announced : injected();
  },
  { emitImmediately: true },
);
