/** A live preview of the text, rendered by the service. */

import { useEffect, useRef, useState } from "preact/hooks";
import { session, watchSession } from "../../page/session.ts";
import { SignInButton } from "../sign-in.tsx";
import { WORDS } from "../words.ts";

/**
 * How long the author must pause before the preview updates, in milliseconds. The service allows
 * two requests per second from an address, which other authors may share.
 */
const PAUSE = 700;
/** The retry delay if the service cannot be reached or is busy, in milliseconds. */
const AGAIN = 5000;

type Standing = "current" | "behind" | "unreachable" | "busy" | "refused";

const NOTES: Record<Standing, string | null> = {
  current: null,
  behind: null,
  unreachable: WORDS.serviceCantReachedLast,
  busy: WORDS.serviceBusyLastPreview,
  refused: WORDS.serviceCantPreviewText,
};

/** Request the HTML of a text. The service sanitises it: user content never runs. */
async function render(content: string, token: string, signal: AbortSignal): Promise<string> {
  // With `Accept: text/html`, the service would send refusals as pages.
  const response = await watchSession("/studio/preview", {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
    body: JSON.stringify({ content }),
    signal,
  });
  if (!response.ok) throw new PreviewRefused(response.status);
  return response.text();
}

class PreviewRefused extends Error {
  constructor(readonly status: number) {
    super(WORDS.previewRefused(status));
  }
}

export function Preview({ content, isShown }: { content: string; isShown: boolean }) {
  const place = useRef<HTMLDivElement>(null);
  const rendered = useRef<string | null>(null);
  const [standing, setStanding] = useState<Standing>("behind");
  const [attempt, setAttempt] = useState(0);
  const token = session.value?.token;
  useEffect(() => {
    if (!isShown || !token || rendered.current === content) return;
    const abort = new AbortController();
    let again: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      try {
        const html = await render(content, token, abort.signal);
        rendered.current = content;
        if (place.current) show(place.current, html);
        setStanding("current");
      } catch (error) {
        if (abort.signal.aborted) return;
        const failed = standingAfter(error);
        setStanding(failed);
        if (failed === "unreachable" || failed === "busy")
          again = setTimeout(() => setAttempt((tried) => tried + 1), AGAIN);
      }
    };
    const pause = setTimeout(ask, rendered.current === null ? 0 : PAUSE);
    return () => {
      abort.abort();
      clearTimeout(pause);
      clearTimeout(again);
    };
  }, [content, isShown, attempt, token]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
    <section class="preview" aria-label={WORDS.preview} hidden={!isShown} tabIndex={0}>
      {token ? (
        <p class="preview-note" role="status">
          {NOTES[standing]}
        </p>
      ) : (
        <SignedOut wasShown={rendered.current !== null} />
      )}
      <div class="text" ref={place} />
    </section>
  );
}

/** The service renders only for signed-in authors; writing itself needs no session. */
function SignedOut({ wasShown }: { wasShown: boolean }) {
  return (
    <div class="studio-note">
      <p role="status">{wasShown ? WORDS.sessionEndedLastPreview : WORDS.signSeePreview}</p>
      <SignInButton label={WORDS.signPreview} />
    </div>
  );
}

/** The state of a preview that failed. */
function standingAfter(error: unknown): Standing {
  if (!(error instanceof PreviewRefused)) return "unreachable";
  // An ended session is forgotten, and the preview says so.
  if (error.status === 401) return "behind";
  if (error.status === 429) return "busy";
  return error.status < 429 ? "refused" : "unreachable";
}

/** Replace the HTML and keep the scroll position. The service has sanitised it. */
function show(place: HTMLElement, html: string): void {
  const scroller = place.closest(".preview") ?? place;
  const { scrollTop } = scroller;
  place.innerHTML = html;
  scroller.scrollTop = scrollTop;
}
