/** How the text will look: by the renderer of the service, while it is written. */

import type { ReadonlySignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

/** How long the author pauses before the preview follows, in milliseconds. */
const PAUSE = 350;
/** How soon to ask again if the service cannot be reached, in milliseconds. */
const AGAIN = 5000;

type Standing = "current" | "behind" | "unreachable" | "refused";

/** Ask the service for the HTML of a text. It is sanitised there: user content never runs. */
async function render(content: string, signal: AbortSignal): Promise<string> {
  const response = await fetch("/studio/preview", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/html" },
    body: JSON.stringify({ content }),
    signal,
  });
  if (!response.ok) throw new PreviewRefused(response.status);
  return response.text();
}

class PreviewRefused extends Error {
  constructor(readonly status: number) {
    super(`The preview was refused with ${status}.`);
  }
}

export function Preview({ text, isShown }: { text: ReadonlySignal<string>; isShown: boolean }) {
  const place = useRef<HTMLDivElement>(null);
  const rendered = useRef<string | null>(null);
  const [standing, setStanding] = useState<Standing>("behind");
  const [attempt, setAttempt] = useState(0);
  const content = text.value;
  useEffect(() => {
    if (!isShown || rendered.current === content) return;
    const abort = new AbortController();
    let again: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      try {
        const html = await render(content, abort.signal);
        rendered.current = content;
        if (place.current) show(place.current, html);
        setStanding("current");
      } catch (error) {
        if (abort.signal.aborted) return;
        const isFinal = error instanceof PreviewRefused && error.status < 429;
        setStanding(isFinal ? "refused" : "unreachable");
        if (!isFinal) again = setTimeout(() => setAttempt((tried) => tried + 1), AGAIN);
      }
    };
    const pause = setTimeout(ask, rendered.current === null ? 0 : PAUSE);
    return () => {
      abort.abort();
      clearTimeout(pause);
      clearTimeout(again);
    };
  }, [content, isShown, attempt]);
  return (
    <section class="preview" aria-label="Preview" hidden={!isShown}>
      <p class="preview-note" role="status">
        {standing === "unreachable" &&
          "The service cannot be reached: this is the preview as it was last."}
        {standing === "refused" && "The service cannot show this text; it may be too large."}
      </p>
      <div class="text" ref={place} />
    </section>
  );
}

/** Replace the HTML; the place where one was reading stays. The service has sanitised it. */
function show(place: HTMLElement, html: string): void {
  const scroller = place.closest(".preview") ?? place;
  const { scrollTop } = scroller;
  place.innerHTML = html;
  scroller.scrollTop = scrollTop;
}
