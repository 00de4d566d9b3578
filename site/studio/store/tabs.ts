/** The tabs of one browser: which of them live, and what they tell each other. */

import { heldLocks, takeLock } from "../../page/locks.ts";
import { randomName } from "../../page/random-name.ts";

const NAME = "imprint-tab-";
const STORED = "imprint.tab";

/** What a tab tells the others about a draft of an account. */
interface TabMessage {
  readonly kind: "opened" | "present" | "closed" | "saved" | "removed" | "copies";
  readonly account: string;
  readonly key: string;
  readonly tab: string;
  /** With `saved`: the version that the service has now. */
  readonly cid?: string;
}

let taken: Promise<string> | null = null;

/** The name of this tab, which a reload keeps and no other living tab has. */
export function thisTab(): Promise<string> {
  taken ??= takeName().catch((error) => {
    // The next one who asks tries again.
    taken = null;
    throw error;
  });
  return taken;
}

async function takeName(): Promise<string> {
  const stored = sessionStorage.getItem(STORED);
  // A tab that was duplicated has the name of its origin, which lives.
  if (stored && (await hold(stored))) return stored;
  const made = randomName();
  await hold(made);
  sessionStorage.setItem(STORED, made);
  return made;
}

/** Hold the lock of a name as long as this page lives; false if another page has it. */
const hold = async (name: string): Promise<boolean> => (await takeLock(NAME + name)) !== null;

/** The names of the tabs that live, this one included. */
export async function livingTabs(): Promise<ReadonlySet<string>> {
  const held = await heldLocks(NAME);
  return new Set([...held.map((name) => name.slice(NAME.length)), await thisTab()]);
}

const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("imprint-studio") : null;

/** Tell all other tabs. */
export const tellTabs = (message: TabMessage): void => channel?.postMessage(message);

/** Hear what other tabs tell; the result ends it. */
export function hearTabs(hear: (message: TabMessage) => void): () => void {
  const listen = ({ data }: MessageEvent<TabMessage>) => hear(data);
  channel?.addEventListener("message", listen);
  return () => channel?.removeEventListener("message", listen);
}
