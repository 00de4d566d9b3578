/** Locks that the other tabs of the browser see, and that end with their tab (Web Locks).
 *
 *  Without https, browsers have no locks: every lock is then free.
 */

/** Take a lock: the result gives it back, and is null if another tab has it. */
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

/** The names of the locks that tabs have, this one included, and that begin so. */
export async function heldLocks(prefix: string): Promise<string[]> {
  const { held = [] } = (await navigator.locks?.query()) ?? {};
  return held.map(({ name = "" }) => name).filter((name) => name.startsWith(prefix));
}

/** Whether a tab has the lock, this one included. */
export const isLocked = async (name: string): Promise<boolean> =>
  (await heldLocks(name)).includes(name);

/** Resolves as soon as no tab has the lock. */
export async function lockIsFree(name: string): Promise<void> {
  await navigator.locks?.request(name, () => undefined);
}
