/** What modules expect of a browser's page, for tests that run without a browser. */

/** A page with these facts and this memory, in the place of the browser's. */
export function standInForPage(facts: object, memory = new Map<string, string>()) {
  const heard = new Map<string, (event: { key: string | null }) => void>();
  const localStorage = {
    getItem: (key: string) => memory.get(key) ?? null,
    setItem: (key: string, value: string) => memory.set(key, value),
    get length() {
      return memory.size;
    },
    key: (at: number) => [...memory.keys()][at] ?? null,
    removeItem: (key: string) => memory.delete(key),
  };
  Object.assign(globalThis, {
    document: { getElementById: () => ({ textContent: JSON.stringify(facts) }) },
    location: { origin: "http://127.0.0.1:8000" },
    localStorage,
    addEventListener: (type: string, listener: () => void) => heard.set(type, listener),
  });
  return {
    memory,
    /** Change a key as another tab does. */
    changeInOtherTab(key: string, value: string | null): void {
      if (value === null) memory.delete(key);
      else memory.set(key, value);
      heard.get("storage")?.({ key });
    },
  };
}
