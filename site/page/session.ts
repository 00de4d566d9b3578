/** The session of this page, and the client that reads with it. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { type Address, ImprintReader, type Session } from "imprint-press";
import { facts } from "./facts.ts";
import { keysFrom, onOtherTab, recall, remember, SESSION_KEY } from "./storage.ts";

/** How the places begin where the sessions of other accounts are put aside. */
const ASIDE = `${SESSION_KEY}.`;

const asideKey = (address: Address): string => `${ASIDE}${address.toLowerCase()}`;

/** Where it is kept by how many seconds the service is ahead of this device. */
const CLOCK_KEY = "imprint.clock";

/** Refusals that mean: this session is of no use any more. */
const ENDED = ["session_expired", "session_ended", "session_invalid"];

/** The longest delay of a timer in browsers. */
const LONGEST_TIMER = 2 ** 31 - 1;

const current = signal<Session | null>(null);
let expiry: ReturnType<typeof setTimeout> | undefined;

/** The session of this page, shared by all tabs; null before sign-in and after its end. */
export const session: ReadonlySignal<Session | null> = current;

class PageReader extends ImprintReader {
  /** Also after a reload, or a session would seem to have ended long ago. */
  override setClock(unixSeconds: number): void {
    super.setClock(unixSeconds);
    const ahead = Math.round(unixSeconds - Date.now() / 1000);
    remember(CLOCK_KEY, ahead === 0 ? null : ahead);
  }

  /** The text of a post that the session may read, as HTML that the service sanitised. */
  async readPostHtml(id: string): Promise<string> {
    // Asked for HTML, the service would give refusals as pages.
    return (await this.request(`/p/${encodeURIComponent(id)}/text`)).text();
  }

  /** End all permissions to write without the wallet, in all browsers of the session's address. */
  async revokeWritingSessions(): Promise<void> {
    await this.request("/writing/sessions", { method: "DELETE" });
  }

  /** The stored bytes of a post that the session may read, or anybody if it is free. */
  async readPostDocument(id: string): Promise<Uint8Array> {
    const response = await this.request(`/p/${encodeURIComponent(id)}/document`);
    return new Uint8Array(await response.arrayBuffer());
  }
}

/** The client for all that readers do. It has no code for writes, so that pages load fast. */
export const reader = new PageReader(
  location.origin,
  { ...facts, now: Date.now() / 1000 + (recall<number>(CLOCK_KEY) ?? 0) },
  { fetch: watchSession },
);

/** Read with this session from now on, in all tabs; null ends that. */
export function keepSession(kept: Session | null): void {
  remember(SESSION_KEY, kept);
  show(kept);
}

/** Forget the session, and those of other accounts that were put aside. */
export function forgetSessions(): void {
  for (const key of keysFrom(ASIDE)) remember(key, null);
  keepSession(null);
}

/** Read as this account: its own session if there is one, while that of another is put aside. */
export function switchSession(address: Address): void {
  const shown = current.value;
  if (shown && isOf(shown, address)) return;
  if (shown) remember(asideKey(shown.address), shown);
  // Another tab may have signed in with the account already.
  const kept = recall<Session>(SESSION_KEY);
  const own = kept && isOf(kept, address) ? kept : recall<Session>(asideKey(address));
  remember(asideKey(address), null);
  keepSession(own && isValid(own) ? own : null);
}

/** Whether a session is that of an address. */
export const isOf = (held: Session, address: Address): boolean =>
  held.address.toLowerCase() === address.toLowerCase();

const isValid = (held: Session): boolean => millisecondsLeft(held) > 0;

const millisecondsLeft = (held: Session): number =>
  Date.parse(held.expiresAt) - reader.now() * 1000;

function show(shown: Session | null): void {
  clearTimeout(expiry);
  if (shown)
    expiry = setTimeout(() => keepSession(null), Math.min(millisecondsLeft(shown), LONGEST_TIMER));
  reader.session = shown;
  current.value = shown;
}

function restore(): void {
  const kept = recall<Session>(SESSION_KEY);
  if (kept?.token === current.value?.token) return;
  show(kept && isValid(kept) ? kept : null);
}

/** Requests of the client; a session that the service refuses is forgotten. */
export async function watchSession(input: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  const sent = new Headers(init?.headers).get("Authorization");
  if (response.status === 401 && sent) {
    const problem = (await response
      .clone()
      .json()
      .catch(() => null)) as { code?: string } | null;
    const isCurrent = sent === `Bearer ${current.value?.token}`;
    if (isCurrent && ENDED.includes(problem?.code ?? "")) keepSession(null);
  }
  return response;
}

function forgetExpired(): void {
  for (const key of keysFrom(ASIDE)) {
    const aside = recall<Session>(key);
    if (!aside || !isValid(aside)) remember(key, null);
  }
}

restore();
forgetExpired();
onOtherTab([SESSION_KEY], restore);
