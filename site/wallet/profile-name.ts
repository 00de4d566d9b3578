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

/** The account whose name is being read. */
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
  loading = null;
  remember(KEY, found);
  kept.value = found;
}

export function forgetName(): void {
  loading = null;
  remember(KEY, null);
  kept.value = null;
}

/**
 * Read the name of the page's account, at most once an hour. Without a response, nothing changes;
 * without an account, a running read is dropped.
 */
export async function loadName(address: Address | null): Promise<void> {
  const wanted = address && !isFresh(address) ? address : null;
  if (loading === wanted) return;
  loading = wanted;
  if (wanted === null) return;
  const name = await readName(wanted);
  // The page may act for another account by now, or know a newer name.
  if (loading !== wanted) return;
  loading = null;
  if (name !== undefined) keepName(wanted, name);
}

/** The name of an account; null without a profile, undefined without a response. */
async function readName(address: Address): Promise<string | null | undefined> {
  try {
    return (await reader.as(null).showAuthor(address)).profile?.name ?? null;
  } catch (error) {
    return error instanceof Refusal && error.code === "not_found" ? null : undefined;
  }
}

function isFresh(address: Address): boolean {
  const found = kept.peek();
  if (found?.address !== address.toLowerCase()) return false;
  const age = Date.now() - found.at;
  return age >= 0 && age < FRESH;
}
