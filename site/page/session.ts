/** The session of this page, and the client that reads with it. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { type Address, ImprintReader, type Session } from "imprint-press";
import { facts } from "./facts.ts";
import { keysFrom, onOtherTab, recall, remember, SESSION_KEY } from "./storage.ts";

/** The prefix of the storage keys of other accounts' sessions. */
const ASIDE = `${SESSION_KEY}.`;

const asideKey = (address: Address): string => `${ASIDE}${address.toLowerCase()}`;

/** The storage key of how many seconds the service's clock is ahead of this device. */
const CLOCK_KEY = "imprint.clock";

/** Refusals that mean that this session is no longer valid. */
const ENDED = ["session_expired", "session_ended", "session_invalid"];

/** The longest timer delay in browsers. */
const LONGEST_TIMER = 2 ** 31 - 1;

const current = signal<Session | null>(null);
let expiry: ReturnType<typeof setTimeout> | undefined;

/** The session of this page, shared by all tabs; null before sign-in and after its end. */
export const session: ReadonlySignal<Session | null> = current;

class PageReader extends ImprintReader {
  /** Set the clock, also for the next page: by a wrong clock, a valid session may seem expired. */
  override setClock(unixSeconds: number): void {
    super.setClock(unixSeconds);
    const ahead = Math.round(unixSeconds - Date.now() / 1000);
    remember(CLOCK_KEY, ahead === 0 ? null : ahead);
  }

  /** The text of a post that the session may read, as HTML sanitised by the service. */
  async readPostHtml(id: string): Promise<string> {
    // With `Accept: text/html`, the service would send refusals as pages.
    return (await this.request(`/p/${encodeURIComponent(id)}/text`)).text();
  }

  /** A view of the versions of a post that the session may read, as HTML made by the service. */
  async readVersionHtml(path: string): Promise<string> {
    return (await this.request(path)).text();
  }

  /** End all writing sessions, in all browsers of the session's address. */
  async revokeWritingSessions(): Promise<void> {
    await this.request("/writing/sessions", { method: "DELETE" });
  }
}

/**
 * The client for everything that readers do. It has no code for writes, so that pages load fast.
 */
export const reader = new PageReader(
  location.origin,
  { ...facts, now: Date.now() / 1000 + (recall<number>(CLOCK_KEY) ?? 0) },
  { fetch: watchSession },
);

/** Use this session from now on, in all tabs; null ends it. */
export function keepSession(kept: Session | null): void {
  remember(SESSION_KEY, kept);
  show(kept);
}

/** Forget the session, and those of other accounts. */
export function forgetSessions(): void {
  for (const key of keysFrom(ASIDE)) remember(key, null);
  keepSession(null);
}

/** Switch to this account: use its own session if there is one, and put the current one aside. */
export function switchSession(address: Address): void {
  const shown = current.value;
  if (shown && isOf(shown, address)) return;
  if (shown) remember(asideKey(shown.address), shown);
  // Another tab may already have signed in with the account.
  const kept = recall<Session>(SESSION_KEY);
  const own = kept && isOf(kept, address) ? kept : recall<Session>(asideKey(address));
  remember(asideKey(address), null);
  keepSession(own && isValid(own) ? own : null);
}

/** Whether a session belongs to an address. */
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
