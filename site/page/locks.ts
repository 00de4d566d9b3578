/**
 * Locks that are shared by the tabs of the browser and end with their tab (Web Locks).
 *
 * Without https, browsers have no locks: every lock then counts as free.
 */

/** Take a lock: returns a function that releases it, or null if another tab has it. */
export function takeLock(name: string): Promise<(() => void) | null> {
  if (!navigator.locks) return Promise.resolve(() => undefined);
  return new Promise((resolve, reject) => {
    navigator.locks
      .request(name, { ifAvailable: true }, (lock) => {
        if (!lock) {
          resolve(null);
          return undefined;
        }
        return new Promise<void>((release) => resolve(release));
      })
      .catch(reject);
  });
}

/** The names of held locks with this prefix, including those of this tab. */
export async function heldLocks(prefix: string): Promise<string[]> {
  const { held = [] } = (await navigator.locks?.query()) ?? {};
  return held.map(({ name = "" }) => name).filter((name) => name.startsWith(prefix));
}

/** Whether a tab holds the lock, including this one. */
export const isLocked = async (name: string): Promise<boolean> =>
  (await heldLocks(name)).includes(name);

/** Resolves as soon as no tab holds the lock. */
export async function lockIsFree(name: string): Promise<void> {
  await navigator.locks?.request(name, () => undefined);
}
