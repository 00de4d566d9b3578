/** The name in the profile of an account, which its menu shows. */

import { signal } from "@preact/signals-core";
import { type Address, Refusal } from "imprint-press";
import { reader } from "../page/session.ts";
import { onOtherTab, recall, remember } from "../page/storage.ts";

const KEY = "imprint.name";

/** How long a name is shown before it is read again, in milliseconds. */
const FRESH = 60 * 60 * 1000;

interface Kept {
  readonly address: string;
  /** Null for an account without a profile. */
  readonly name: string | null;
  readonly at: number;
}

const kept = signal(recall<Kept>(KEY));
onOtherTab([KEY], () => {
  kept.value = recall<Kept>(KEY);
});

let loading: Address | null = null;

/** The name of an account, as far as this browser knows it. */
export function nameOf(address: Address): string | null {
  const found = kept.value;
  if (found?.address !== address.toLowerCase() || typeof found.name !== "string") return null;
  return found.name;
}

/** Show this name of an account from now on, in all tabs. */
export function keepName(address: Address, name: string | null): void {
  const found = { address: address.toLowerCase(), name, at: Date.now() };
  remember(KEY, found);
  kept.value = found;
}

export function forgetName(): void {
  remember(KEY, null);
  kept.value = null;
}

/** Read the name of an account, at most once an hour. Without a response, nothing changes. */
export async function loadName(address: Address): Promise<void> {
  if (loading === address || isFresh(address)) return;
  loading = address;
  let name: string | null = null;
  try {
    name = (await reader.as(null).showAuthor(address)).profile?.name ?? null;
  } catch (error) {
    if (!(error instanceof Refusal && error.code === "not_found")) return;
  }
  // The page may act for another account by now.
  if (loading === address) keepName(address, name);
}

function isFresh(address: Address): boolean {
  const found = kept.peek();
  if (found?.address !== address.toLowerCase()) return false;
  const age = Date.now() - found.at;
  return age >= 0 && age < FRESH;
}
