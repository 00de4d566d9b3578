/** The frame around every view of the Studio: its tabs, and the current author. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { account, session } from "../wallet/index.ts";
import { DraftsView } from "./drafts/index.tsx";
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
      {/* A text that is open stays, whatever the wallet does. */}
      {account.value || shown.view === "draft" ? <View shown={shown} /> : <Welcome />}
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
      return session.value ? (
        <CorrectView key={shown.key} postId={shown.key} />
      ) : (
        <SignInAgain reason={WORDS.correctPost} />
      );
    case "import":
      return <ImportView />;
    case "income":
      return session.value ? <IncomeView /> : <SignInAgain reason={WORDS.seeIncome} />;
    case "profile":
      return <ProfileView />;
  }
}

type Loaded<Props> =
  | { readonly view: ComponentType<Props> }
  | { readonly view: null; readonly hasFailed: boolean };

/** A component that loads its view, and offers to retry if the network is away. */
function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  name: string,
): ComponentType<Props> {
  let kept: ComponentType<Props> | null = null;
  return function Lazy(props: Props) {
    const [loaded, setLoaded] = useState<Loaded<Props>>(
      kept ? { view: kept } : { view: null, hasFailed: false },
    );
    const [attempt, setAttempt] = useState(0);
    useEffect(() => {
      if (loaded.view) return;
      let isShown = true;
      load().then(
        (view) => {
          kept = view;
          if (isShown) setLoaded({ view });
        },
        () => isShown && setLoaded({ view: null, hasFailed: true }),
      );
      return () => {
        isShown = false;
      };
    }, [attempt]);
    if (loaded.view) return <loaded.view {...props} />;
    if (!loaded.hasFailed)
      return (
        <p class="studio-wait" role="status">
          {WORDS.opening(name)}
        </p>
      );
    const again = () => {
      setLoaded({ view: null, hasFailed: false });
      setAttempt(attempt + 1);
    };
    return (
      <div class="studio-empty" role="alert">
        <p>{WORDS.couldntLoadedOnline(name.replace(/^./, (letter) => letter.toUpperCase()))}</p>
        <button type="button" onClick={again}>
          {WORDS.tryAgain}
        </button>
      </div>
    );
  };
}
