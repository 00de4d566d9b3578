/** Signing in: one free signature, then the account reads what it holds. */

import { batch } from "@preact/signals-core";
import { type Address, BrowserKeyStore, Refusal, type Session } from "imprint-press";
import { facts } from "../page/facts.ts";
import { forgetSessions, isOf, keepSession, reader, session } from "../page/session.ts";
import { WORDS } from "../page/words.ts";
import type { Account } from "./account.ts";
import { account, disconnect, reconnect } from "./connection.ts";
import { AccountChanged } from "./failures.ts";
import { forgetName } from "./profile-name.ts";

const STATEMENT = WORDS.signReadWhatOwn;

let connecting: Promise<Account> | null = null;
/** The running sign-ins, by account: while one is being asked, another can sign in. */
const signing = new Map<Address, Promise<Session>>();

/** The account of this page, or the one that the user chooses now. Throws `Cancelled`. */
export function connect(): Promise<Account> {
  connecting ??= connectOnce().finally(() => {
    connecting = null;
  });
  return connecting;
}

/** A session of the account: the existing one, or a new one after a signature. */
export async function signIn(): Promise<Session> {
  const held = session.value;
  if (held && (!account.value || isOf(held, account.value.address))) return held;
  const chosen = await connect();
  if (session.value) return session.value;
  const { address } = chosen;
  const made = signing.get(address) ?? login(chosen).finally(() => signing.delete(address));
  signing.set(address, made);
  return made;
}

/** Do something that needs a session. If it has ended meanwhile, sign in and repeat. */
export async function withSession<T>(work: () => Promise<T>): Promise<T> {
  await signIn();
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal && error.code.startsWith("session_"))) throw error;
    await signIn();
    return work();
  }
}

/**
 * End the session here, or with `all` on every device, and forget the account.
 *
 * With `all`, keys that the account allowed to write for it are revoked too.
 */
export async function signOut({ all = false }: { all?: boolean } = {}): Promise<void> {
  const held = session.value;
  if (all && held) {
    await endWriting(held);
    await reader.logout({ all });
  }
  // Here it ends at once in any case, whether or not the service is reached.
  batch(() => {
    forgetSessions();
    forgetName();
    disconnect();
  });
  if (!all && held)
    await reader
      .as(held)
      .logout()
      .catch(() => undefined);
}

/** Revoke the writing sessions of the account, and delete the key of this browser. */
async function endWriting(held: Session): Promise<void> {
  if (!facts.features.includes("writing-sessions")) return;
  await reader.revokeWritingSessions();
  // A browser that stores no keys has none to delete.
  await new BrowserKeyStore().remove(facts.service, held.address).catch(() => undefined);
}

async function connectOnce(): Promise<Account> {
  const connected = account.value ?? (await reconnect());
  if (connected) return connected;
  const { chooseAccount } = await import("./chooser.ts");
  return chooseAccount();
}

async function login(chosen: Account): Promise<Session> {
  const options = { origin: location.origin, statement: STATEMENT, remember: false };
  const made = await reader.as(null).login(chosen.wallet, options);
  if (account.value?.address !== chosen.address) throw new AccountChanged();
  keepSession(made);
  return made;
}
