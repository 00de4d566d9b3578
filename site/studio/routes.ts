/** The current view of the Studio, as the fragment of the URL. */

import { type ReadonlySignal, signal } from "@preact/signals";

/** Views without a key, besides the list of drafts. */
const SINGLE = ["import", "income", "profile"] as const;
type Single = (typeof SINGLE)[number];

/** Views of one draft, by its key, or of one post, by its id. */
const KEYED = ["draft", "publish", "correct", "post", "continue"] as const;
type Keyed = (typeof KEYED)[number];

export type Route =
  | { readonly view: "drafts" }
  | { readonly view: Keyed; readonly key: string }
  | { readonly view: Single };

const isKeyed = (view: string | undefined): view is Keyed => KEYED.some((each) => each === view);
const isSingle = (view: string | undefined): view is Single => SINGLE.some((each) => each === view);

/** The route of a hash; an unknown hash means the list of drafts. */
export function parseRoute(hash: string): Route {
  const [view, key, ...rest] = hash.replace(/^#?\/?/, "").split("/");
  if (isSingle(view) && key === undefined) return { view };
  if (isKeyed(view) && key && rest.length === 0) {
    try {
      return { view, key: decodeURIComponent(key) };
    } catch {
      return { view: "drafts" };
    }
  }
  return { view: "drafts" };
}

/** The hash of a route, for links. */
export function formatRoute(route: Route): string {
  if (route.view === "drafts") return "#/";
  if (!("key" in route)) return `#/${route.view}`;
  return `#/${route.view}/${encodeURIComponent(route.key)}`;
}

const current = signal<Route>({ view: "drafts" });

/** The current route. */
export const route: ReadonlySignal<Route> = current;

/** Follow the URL from now on. */
export function followAddress(): void {
  const read = () => {
    current.value = parseRoute(location.hash);
  };
  addEventListener("hashchange", read);
  read();
}

/** Navigate; with `replace` the back button skips the current route. */
export function go(next: Route, { replace = false } = {}): void {
  const hash = formatRoute(next);
  if (replace) {
    history.replaceState(history.state, "", hash);
    current.value = next;
  } else location.hash = hash;
}
