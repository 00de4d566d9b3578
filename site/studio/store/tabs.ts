/** The tabs of one browser: which of them are open, and the messages between them. */

import { heldLocks, takeLock } from "../../page/locks.ts";
import { randomName } from "./random-name.ts";

const NAME = "imprint-tab-";
const STORED = "imprint.tab";

/** A message about a draft of an account. */
interface TabMessage {
  readonly kind: "opened" | "present" | "closed" | "saved" | "removed" | "copies";
  readonly account: string;
  readonly key: string;
  readonly tab: string;
  /** With `saved`: the current version of the service. */
  readonly cid?: string;
}

let taken: Promise<string> | null = null;

/** The name of this tab, which survives a reload and is unique among open tabs. */
export function thisTab(): Promise<string> {
  taken ??= takeName().catch((error) => {
    // The next caller tries again.
    taken = null;
    throw error;
  });
  return taken;
}

async function takeName(): Promise<string> {
  const stored = sessionStorage.getItem(STORED);
  // A duplicated tab has the name of its origin, which is open.
  if (stored && (await hold(stored))) return stored;
  const made = randomName();
  await hold(made);
  sessionStorage.setItem(STORED, made);
  return made;
}

/** Hold the lock of a name as long as this page lives; false if another page has it. */
const hold = async (name: string): Promise<boolean> => (await takeLock(NAME + name)) !== null;

/** The names of the open tabs, including this one. */
export async function livingTabs(): Promise<ReadonlySet<string>> {
  const held = await heldLocks(NAME);
  return new Set([...held.map((name) => name.slice(NAME.length)), await thisTab()]);
}

const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("imprint-studio") : null;

/** Send a message to all other tabs. */
export const tellTabs = (message: TabMessage): void => channel?.postMessage(message);

/** Listen to messages of other tabs; returns a function that stops listening. */
export function hearTabs(hear: (message: TabMessage) => void): () => void {
  const listen = ({ data }: MessageEvent<TabMessage>) => hear(data);
  channel?.addEventListener("message", listen);
  return () => channel?.removeEventListener("message", listen);
}
