/** One tab at a time: locks that other tabs of the browser see, and that end with their tab. */

/** Take a lock: the result gives it back, and is null if another tab has it. */
export function takeLock(name: string): Promise<(() => void) | null> {
  // Without encryption, browsers have no locks; tabs then see each other's progress only.
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

/** Whether a tab has the lock, this one included. */
export async function isLocked(name: string): Promise<boolean> {
  const { held = [] } = (await navigator.locks?.query()) ?? {};
  return held.some((lock) => lock.name === name);
}

/** Resolves as soon as no tab has the lock. */
export async function lockIsFree(name: string): Promise<void> {
  await navigator.locks?.request(name, () => undefined);
}
