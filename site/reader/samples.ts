/** The button that fills `imprint dev` with sample posts: on the empty front page and in the menu. */

import { button, fill, h } from "../page/dom.ts";
import { notify } from "../page/notices.ts";
import type { Filled, Progress } from "../samples/index.ts";
import { WORDS } from "./words.ts";

const LABEL = WORDS.fillSamplePosts;

let isRunning = false;

/** Offer sample posts on an empty page. */
export function offerSamples(place: HTMLElement): void {
  const control = button(LABEL, () => void run(control, control), { class: "button" });
  const actions = place.querySelector(".button")?.parentElement ?? place;
  actions.classList.add("gate-actions");
  actions.append(" ", control);
  place.append(h("p", { class: "hint" }, WORDS.dozenPostsSeveralPeople));
}

/** The entry in the account menu. */
export function sampleItem(): HTMLElement {
  const control = button(LABEL, () => void run(control, control), { class: "account-item" });
  return control;
}

/** Publish the samples and show the progress after an element, then the new list. */
async function run(control: HTMLButtonElement, before: Element): Promise<void> {
  if (isRunning) return;
  isRunning = true;
  control.disabled = true;
  const bar = h("progress", { class: "filling-bar", max: 1, value: 0, "aria-label": LABEL });
  const status = h("p", { class: "filling-status", role: "status" }, WORDS.gettingTexts);
  const progress = h("div", { class: "filling" }, bar, status);
  (before.closest("p") ?? before).after(progress);
  const show = ({ done, total, sentence }: Progress) => {
    [bar.max, bar.value] = [total, done];
    fill(status, sentence);
  };
  try {
    const { fillWithSamples } = await import("../samples/index.ts");
    const filled = await fillWithSamples(show);
    await showList();
    tell(filled);
  } catch (error) {
    const { explain } = await import("../wallet/failures.ts");
    notify({ kind: "bad", text: explain(error).sentence });
  } finally {
    isRunning = false;
    control.disabled = false;
    progress.remove();
  }
}

function tell({ published, failed, purchases }: Filled): void {
  if (failed.length > 0)
    return void notify({
      kind: "bad",
      text: WORDS.someFailed(WORDS.posts(published.length), failed.length),
    });
  const isListed = document.querySelector(".card") !== null;
  notify({
    kind: "good",
    text:
      published.length === 0 && purchases === 0
        ? WORDS.allSamplePostsAlready
        : WORDS.filled(WORDS.samplePosts(published.length), WORDS.purchases(purchases)),
    ...(!isListed && { action: { label: WORDS.seeThem, run: () => location.assign("/") } }),
  });
}

/** Replace a list of posts or an empty page with the current one from the service. */
async function showList(): Promise<void> {
  if (!document.querySelector("#empty, .card")) return;
  // Bypass the browser's cache: the empty page may be cached for some seconds.
  const headers = { Accept: "text/html" };
  const response = await fetch(location.href, { headers, cache: "no-cache" });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const [shown, made] = [document.querySelector("main"), page.querySelector("main")];
  if (!response.ok || !shown || !made) return;
  shown.replaceChildren(...made.childNodes);
  const { markCards } = await import("./marks.ts");
  markCards();
}
