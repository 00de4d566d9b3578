/**
 * Sends the request of a form: reads as they are, writes freshly signed by the account's wallet.
 */

import {
  type Address,
  BrowserKeyStore,
  Imprint,
  Refusal,
  type Wallet,
  type WritingAction,
} from "imprint-press";
import { isEncrypted, NotEncrypted } from "../../page/encryption.ts";
import { imprint, keepSession } from "../../page/service.ts";
import { account, connect, signIn } from "../../wallet/index.ts";
import { WORDS } from "../words.ts";
import { type Exchange, Recorder } from "./exchange.ts";
import { addressOf, headersOf, type Operation, type Values } from "./request.ts";

/** Send the request, and return the exchange. Throws what the wallet or the network throws. */
export async function send(
  operation: Operation,
  values: Values,
  picture: File | null,
): Promise<Exchange> {
  const recorder = new Recorder();
  const client = new Imprint(
    location.origin,
    { ...imprint.facts, now: imprint.now() },
    { fetch: recorder.fetch },
  );
  try {
    if (operation.access === "wallet") await sendSigned(client, operation.name, values, picture);
    else await sendPlain(recorder, operation, values);
  } catch (error) {
    if (error instanceof Refusal && error.problem.now !== undefined)
      imprint.setClock(error.problem.now);
    // A refusal is a response, and shown as such.
    if (!(error instanceof Refusal) || recorder.last === null) throw error;
  }
  if (recorder.last === null) throw new Error(WORDS.nothingSent);
  return recorder.last;
}

/** Log in, and let the page use the session if it still acts for the account. */
async function login(client: Imprint, wallet: Wallet, address: Address): Promise<void> {
  const made = await client.login(wallet, { origin: location.origin });
  if (account.value?.address === address) keepSession(made);
}

async function sendSigned(
  client: Imprint,
  name: string,
  values: Values,
  picture: File | null,
): Promise<void> {
  const { wallet, address } = await connect();
  const { cid = "", content = "", hashtags = "" } = values;
  switch (name) {
    case "login":
      await login(client, wallet, address);
      return;
    case "createDraft":
      await client.createDraft(wallet, content);
      return;
    case "updateDraft":
      await client.updateDraft(wallet, cid, content);
      return;
    case "deleteDraft":
      await client.deleteDraft(wallet, cid);
      return;
    case "publishDraft": {
      if (picture === null) throw new Error(WORDS.choosePicturePngJpeg);
      const tags = hashtags.split(",").filter(Boolean);
      await client.publishDraft(wallet, cid, { thumbnail: picture, hashtags: tags });
      return;
    }
    case "openWritingSession":
      if (!isEncrypted()) throw new NotEncrypted(WORDS.keyWrite);
      await client.openWritingSession(wallet, {
        actions: (values.actions ?? "create,update").split(",") as WritingAction[],
        seconds: Number(values.seconds ?? "3600"),
        ...(values.key === "keep" && { keyStore: new BrowserKeyStore() }),
      });
      return;
    default:
      throw new Error(WORDS.pageDoesntKnowHow(name));
  }
}

async function sendPlain(recorder: Recorder, operation: Operation, values: Values): Promise<void> {
  const headers = new Headers(headersOf(operation, values));
  const held = operation.access === "session" ? await signIn() : imprint.session;
  if (held && operation.access !== "none") headers.set("Authorization", `Bearer ${held.token}`);
  const init: RequestInit = { method: operation.method, headers, cache: "no-store" };
  if (operation.body) {
    headers.set("Content-Type", "application/json");
    init.body = values.body || "{}";
  }
  await recorder.fetch(addressOf(operation, values), init);
  // The session of this page has just ended, and so have all others if that was requested.
  if (operation.name === "logout" && recorder.last?.status === 204) keepSession(null);
}
