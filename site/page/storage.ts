/** The values that this browser stores for the site; failing to store one is not an error. */

/** The storage key of the session. */
export const SESSION_KEY = "imprint.session";

/** The storage key of the chosen wallet and account. */
export const CHOICE_KEY = "imprint.wallet";

/** The event sent when a page starts to act for an account, for parts that load only then. */
export const ACCOUNT_EVENT = "imprint:account";

/** The value of a key; null if there is none or it cannot be read. */
export function recall<T>(key: string): T | null {
  try {
    const text = localStorage.getItem(key);
    return text === null ? null : (JSON.parse(text) as T);
  } catch {
    return null;
  }
}

/** Store a value, or remove the key if it is null. */
export function remember(key: string, value: unknown): void {
  // Private windows and full disks: the page works, and asks again after a reload.
  tryToKeep(key, value);
}

/** Like `remember`, for values whose loss is reported: false if the value is not stored. */
export function tryToKeep(key: string, value: unknown): boolean {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** The keys with this prefix; none if this browser stores nothing. */
export function keysFrom(prefix: string): string[] {
  try {
    const keys = Array.from({ length: localStorage.length }, (_, at) => localStorage.key(at) ?? "");
    return keys.filter((key) => key.startsWith(prefix));
  } catch {
    return [];
  }
}

/** Call `changed` when another tab changes one of these keys. */
export function onOtherTab(keys: string[], changed: () => void): void {
  addEventListener("storage", ({ key }) => {
    if (key === null || keys.includes(key)) changed();
  });
}
