/** The current view of the Studio, as the fragment of the URL. */

import { type ReadonlySignal, signal } from "@preact/signals";

export type Route =
  | { readonly view: "drafts" }
  | { readonly view: "draft"; readonly key: string }
  | { readonly view: "publish"; readonly key: string }
  | { readonly view: "import" }
  | { readonly view: "income" };

/** The route of a hash; an unknown one is the list of drafts. */
export function parseRoute(hash: string): Route {
  const [view, key, ...rest] = hash.replace(/^#?\/?/, "").split("/");
  if ((view === "income" || view === "import") && key === undefined) return { view };
  if ((view === "draft" || view === "publish") && key && rest.length === 0) {
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
  if (route.view === "income" || route.view === "import") return `#/${route.view}`;
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
