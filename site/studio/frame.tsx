/** What stands around every view of the Studio: its tabs, and who is writing. */

import { account, session } from "../wallet/index.ts";
import { DraftsView } from "./drafts.tsx";
import { lazy } from "./lazy.tsx";
import { formatRoute, type Route, route } from "./routes.ts";
import { SignInAgain, Welcome } from "./sign-in.tsx";

const EditorView = lazy(async () => (await import("./editor/index.tsx")).EditorView, "the editor");
const PublishView = lazy(
  async () => (await import("./publish/index.tsx")).PublishView,
  "the publisher",
);
const IncomeView = lazy(async () => (await import("./income/index.tsx")).IncomeView, "your income");

const TABS: readonly { readonly name: string; readonly to: Route }[] = [
  { name: "Drafts", to: { view: "drafts" } },
  { name: "Income", to: { view: "income" } },
];

export function Frame() {
  const shown = route.value;
  return (
    <div class="studio-view" data-view={shown.view}>
      <nav class="studio-tabs" aria-label="Studio">
        {TABS.map(({ name, to }) => (
          <a href={formatRoute(to)} aria-current={isWithin(shown, to) ? "page" : undefined}>
            {name}
          </a>
        ))}
      </nav>
      {/* A text that is open stays, whatever the wallet does. */}
      {account.value || shown.view === "draft" ? <View shown={shown} /> : <Welcome />}
    </div>
  );
}

const isWithin = (shown: Route, tab: Route): boolean =>
  tab.view === "income" ? shown.view === "income" : shown.view !== "income";

function View({ shown }: { shown: Route }) {
  switch (shown.view) {
    case "drafts":
      return <DraftsView />;
    case "draft":
      return <EditorView draftKey={shown.key} />;
    case "publish":
      return <PublishView key={shown.key} draftKey={shown.key} />;
    case "income":
      return session.value ? <IncomeView /> : <SignInAgain reason="to see your income" />;
  }
}
