/** The permission to save without prompts: a key of this browser that may write for the wallet. */

import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { BrowserKeyStore, resumeWritingSession, type WritingSession } from "imprint-press";
import { imprint } from "../../page/service.ts";
import { account } from "../../wallet/index.ts";
import { author } from "../store/drafts.ts";
import { WORDS } from "../words.ts";

const SECONDS = 24 * 3600;
/** The seconds before its expiry in which a key is no longer used. */
const MARGIN = 5;
const LONGEST_TIMER = 2 ** 31 - 1;

const keys = new BrowserKeyStore();
const held = signal<WritingSession | null>(null);
let expiry: ReturnType<typeof setTimeout> | undefined;

/** The writing session of the account in this browser, while it lasts. */
export const writing: ReadonlySignal<WritingSession | null> = computed(() =>
  held.value?.wallet.toLowerCase() === author.value ? held.value : null,
);

/** Whether the service has writing sessions at all. */
export const hasWritingSessions = imprint.facts.features.includes("writing-sessions");

/** Ask the wallet once; afterwards saves need no prompt for 24 hours. */
export async function startWriting(): Promise<void> {
  const signer = account.value;
  if (!signer) throw new Error(WORDS.connectWalletFirst);
  // A few seconds less than the maximum, in case the clocks differ.
  const seconds = SECONDS - 60;
  const session = await imprint.openWritingSession(signer.wallet, { seconds, keyStore: keys });
  // Its key is stored: it is used again when the wallet comes back to this account.
  if (account.peek()?.address === signer.address) hold(session);
}

/** End the writing session everywhere. */
export async function stopWriting(): Promise<void> {
  const session = held.value;
  if (!session) return;
  await session.revoke();
  // The wallet may have switched to another account with its own session.
  if (held.value === session) hold(null);
}

/** The service has refused the key: forget it. */
export function forgetWriting(): void {
  // A key that stays in this browser is refused and forgotten the next time.
  held.value?.forget().catch(() => undefined);
  hold(null);
}

function hold(session: WritingSession | null): void {
  clearTimeout(expiry);
  held.value = session;
  if (!session) return;
  const left = Date.parse(session.expires) - (imprint.now() + MARGIN) * 1000;
  expiry = setTimeout(forgetWriting, Math.min(Math.max(left, 0), LONGEST_TIMER));
}

effect(() => {
  const address = account.value?.address;
  if (!address) return;
  resumeWritingSession(imprint, keys, address)
    .then((session) => {
      if (account.peek()?.address === address) hold(session);
    })
    // A browser that stores no keys asks the wallet at each save.
    .catch(() => undefined);
});
