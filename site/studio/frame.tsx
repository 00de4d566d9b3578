/** The frame around every view of the Studio: its tabs, and the current author. */

import { account, session } from "../wallet/index.ts";
import { DraftsView } from "./drafts/index.tsx";
import { lazy } from "./lazy.tsx";
import { formatRoute, type Route, route } from "./routes.ts";
import { SignInAgain, Welcome } from "./sign-in.tsx";
import { WORDS } from "./words.ts";

const EditorView = lazy(
  async () => (await import("./editor/index.tsx")).EditorView,
  WORDS.theEditor,
);
const PublishView = lazy(
  async () => (await import("./publication/index.tsx")).PublishView,
  WORDS.thePublisher,
);
const IncomeView = lazy(
  async () => (await import("./income/index.tsx")).IncomeView,
  WORDS.yourIncome,
);
const PostView = lazy(
  async () => (await import("./published/post-view.tsx")).PostView,
  WORDS.yourPost,
);
const ContinueView = lazy(
  async () => (await import("./published/continuation.tsx")).ContinueView,
  WORDS.theEditor,
);
const ProfileView = lazy(
  async () => (await import("./profile/index.tsx")).ProfileView,
  WORDS.yourProfile,
);
const ImportView = lazy(
  async () => (await import("./import/index.tsx")).ImportView,
  WORDS.theImport,
);

const CorrectView = lazy(
  async () => (await import("./correction/index.tsx")).CorrectView,
  WORDS.theCorrection,
);

const TABS: readonly { readonly name: string; readonly to: Route }[] = [
  { name: WORDS.drafts, to: { view: "drafts" } },
  { name: WORDS.import, to: { view: "import" } },
  { name: WORDS.income, to: { view: "income" } },
  { name: WORDS.profile, to: { view: "profile" } },
];

/** Views with texts of the author, which stay open whatever the wallet and the session do. */
const STAYING: ReadonlySet<Route["view"]> = new Set(["draft", "correct", "profile"]);

export function Frame() {
  const shown = route.value;
  return (
    <div class="studio-view" data-view={shown.view}>
      <nav class="studio-tabs" aria-label={WORDS.studio}>
        {TABS.map(({ name, to }) => (
          <a href={formatRoute(to)} aria-current={isWithin(shown, to) ? "page" : undefined}>
            {name}
          </a>
        ))}
      </nav>
      {account.value || STAYING.has(shown.view) ? <View shown={shown} /> : <Welcome />}
    </div>
  );
}

/** Views without a tab of their own belong to the drafts. */
const isWithin = (shown: Route, tab: Route): boolean =>
  tab.view === (TABS.some(({ to }) => to.view === shown.view) ? shown.view : "drafts");

function View({ shown }: { shown: Route }) {
  switch (shown.view) {
    case "drafts":
      return <DraftsView />;
    case "draft":
      return <EditorView draftKey={shown.key} />;
    case "publish":
      return <PublishView key={shown.key} draftKey={shown.key} />;
    case "correct":
      return <CorrectView key={shown.key} postId={shown.key} />;
    case "post":
      if (!session.value) return <SignInAgain reason={WORDS.seeYourPost} />;
      return <PostView key={shown.key} postId={shown.key} />;
    case "continue":
      if (!session.value) return <SignInAgain reason={WORDS.continueYourPost} />;
      return <ContinueView key={shown.key} postId={shown.key} />;
    case "import":
      return <ImportView />;
    case "income":
      return session.value ? <IncomeView /> : <SignInAgain reason={WORDS.seeIncome} />;
    case "profile":
      return <ProfileView />;
  }
}
