/** A double of the browser's page, for tests that run without a browser. */

/** Facts that every service has. */
const CHAIN = { name: "Imprint development", coin: { symbol: "ETH", decimals: 18 } };

/** Replace the browser's page with one that has these facts and this storage. */
export function standInForPage(
  given: { chain?: object; features?: string[]; signing_forms?: string[] },
  memory = new Map<string, string>(),
) {
  const facts = { features: [], ...given, chain: { ...CHAIN, ...given.chain } };
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
    document: { getElementById: () => ({ textContent: JSON.stringify(facts), dataset: {} }) },
    location: { origin: "http://127.0.0.1:8000" },
    localStorage,
    addEventListener: (type: string, listener: () => void) => heard.set(type, listener),
  });
  return {
    memory,
    /** Change a key like another tab would. */
    changeInOtherTab(key: string, value: string | null): void {
      if (value === null) memory.delete(key);
      else memory.set(key, value);
      heard.get("storage")?.({ key });
    },
  };
}

/**
 * The parts of an element that pages here use: attributes, children, clicks, and simple selectors.
 */
export class ElementDouble {
  readonly children: ElementDouble[] = [];
  readonly attributes = new Map<string, string>();
  readonly dataset: Record<string, string> = {};
  hidden = false;
  disabled = false;
  value = "";
  tabIndex = 0;
  private parent: ElementDouble | null = null;
  private readonly listeners = new Map<string, (event?: object) => void>();
  private text = "";

  constructor(readonly tag = "div") {}

  /** The content of a template is the markup that it was given. */
  innerHTML = "";

  get content(): ElementDouble {
    const made = new ElementDouble();
    made.textContent = this.innerHTML;
    return made;
  }

  get textContent(): string {
    return this.text + this.children.map((child) => child.textContent).join("");
  }

  set textContent(text: string) {
    this.text = text;
    this.children.length = 0;
  }

  readonly classList = {
    add: (name: string) => this.attributes.set("class", name),
    remove: () => this.attributes.delete("class"),
  };

  setAttribute(name: string, value: string): void {
    this.attributes.set(name, value);
  }

  toggleAttribute(name: "hidden", value: boolean): void {
    this[name] = value;
  }

  addEventListener(type: string, listener: (event?: object) => void): void {
    this.listeners.set(type, listener);
  }

  append(...added: (ElementDouble | string)[]): void {
    for (const each of added) {
      const child = typeof each === "string" ? new ElementDouble("#text") : each;
      if (typeof each === "string") child.text = each;
      child.parent = this;
      this.children.push(child);
    }
  }

  replaceChildren(...added: (ElementDouble | string)[]): void {
    this.textContent = "";
    this.append(...added);
  }

  remove(): void {
    const { children = [] } = this.parent ?? {};
    children.splice(children.indexOf(this), 1);
  }

  contains(other: ElementDouble): boolean {
    return other === this || this.children.some((child) => child.contains(other));
  }

  querySelectorAll(selector: string): ElementDouble[] {
    const isOne = (each: ElementDouble) =>
      selector.startsWith(".")
        ? each.attributes.get("class") === selector.slice(1)
        : each.tag === selector;
    const own = this.children.filter(isOne);
    return [...own, ...this.children.flatMap((child) => child.querySelectorAll(selector))];
  }

  querySelector(selector: string): ElementDouble | null {
    return this.querySelectorAll(selector)[0] ?? null;
  }

  open = false;

  showModal(): void {
    this.open = true;
  }

  close(): void {
    this.open = false;
    this.listeners.get("close")?.();
  }

  focus(): void {}

  click(): void {
    this.listeners.get("click")?.();
  }

  submit(): void {
    this.listeners.get("submit")?.({ preventDefault: () => undefined });
  }
}

// A test that needs nothing else of a page imports this module for its effect.
if (!("document" in globalThis)) standInForPage({});
