/** What stands around every view of the Studio: its tabs, and who is writing. */

import { useEffect, useRef, useState } from "preact/hooks";
import { account, explain, session, signIn } from "../wallet/index.ts";
import { DraftsView } from "./drafts.tsx";
import { lazy } from "./lazy.tsx";
import { formatRoute, type Route, route } from "./routes.ts";

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
    <div class="studio" data-view={shown.view}>
      <nav class="studio-tabs" aria-label="Studio">
        {TABS.map(({ name, to }) => (
          <a href={formatRoute(to)} aria-current={isWithin(shown, to) ? "page" : undefined}>
            {name}
          </a>
        ))}
      </nav>
      {account.value ? <View shown={shown} /> : <Welcome />}
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
      return <EditorView key={shown.key} draftKey={shown.key} />;
    case "publish":
      return <PublishView key={shown.key} draftKey={shown.key} />;
    case "income":
      return session.value ? <IncomeView /> : <SignInAgain reason="to see your income" />;
  }
}

/** What somebody sees who has no wallet connected. */
function Welcome() {
  return (
    <section class="studio-empty">
      <h1>Write here</h1>
      <p>
        Your wallet is your account: it says that the words are yours, and it is paid when somebody
        buys them. Nothing else is needed.
      </p>
      <SignInButton label="Connect your wallet" />
    </section>
  );
}

/** Offer to sign in, because something cannot be shown without a session. */
export function SignInAgain({ reason }: { reason: string }) {
  return (
    <div class="studio-note" role="status">
      <p>Sign in {reason}. Your wallet signs a message; this costs nothing.</p>
      <SignInButton label="Sign in" />
    </div>
  );
}

function SignInButton({ label }: { label: string }) {
  const [isAsked, setAsked] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const isThere = useRef(true);
  useEffect(
    () => () => {
      isThere.current = false;
    },
    [],
  );
  const ask = async () => {
    setAsked(true);
    setFailure(null);
    try {
      await signIn();
    } catch (error) {
      const { sentence, isCancelled } = explain(error);
      if (isThere.current) setFailure(isCancelled ? null : sentence);
    } finally {
      if (isThere.current) setAsked(false);
    }
  };
  return (
    <>
      <button type="button" class="primary" disabled={isAsked} onClick={ask}>
        {isAsked ? "Look at your wallet…" : label}
      </button>
      {failure && <p role="alert">{failure}</p>}
    </>
  );
}
