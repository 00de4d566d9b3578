/** The library: the posts that the reader holds, page by page. */

import { effect } from "@preact/signals-core";
import { type HeldPost, type Page, Refusal } from "imprint-press";
import { button, fill, h } from "../page/dom.ts";
import { coin, day, pagePath, short } from "../page/format.ts";
import { notify } from "../page/notices.ts";
import { reader } from "../page/session.ts";
import { explain, session, signIn, withSession } from "../wallet/index.ts";
import { attempt } from "./account.ts";
import { WORDS } from "./words.ts";

const PAGE = 24;

/** Show the library of the signed-in reader, or how to sign in. */
export function showLibrary(place: HTMLElement): void {
  effect(() => {
    if (session.value) show(place);
    else
      fill(
        place,
        h("p", null, WORDS.everythingYouveBoughtOr),
        h(
          "p",
          null,
          button(WORDS.signIn, () => void attempt(signIn), { class: "button primary" }),
        ),
      );
  });
}

function show(place: HTMLElement): void {
  const shelf = h("div");
  const search = h("input", {
    type: "search",
    name: "q",
    "aria-label": WORDS.searchLibrary,
    placeholder: WORDS.searchLibrary,
    maxlength: 200,
  });
  const form = h(
    "form",
    { class: "shelf-search", role: "search" },
    search,
    h("button", { class: "button" }, WORDS.search),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void start(search.value.trim());
  });
  const start = async (q: string) => {
    const found = reader.listLibrary({ limit: PAGE, ...(q && { q }) });
    // A separate list: late results of an earlier search must not appear in this one.
    const list = h("div", { class: "shelf" });
    fill(shelf, list);
    await more(list, q, found.page);
  };
  fill(place, h("div", { class: "shelf-tools" }, form, downloadButton(), feedButton()), shelf);
  void start("");
}

async function more(
  list: HTMLElement,
  q: string,
  read: (token?: string) => Promise<Page<HeldPost>>,
  token?: string,
): Promise<void> {
  list.setAttribute("aria-busy", "true");
  try {
    const page = await read(token);
    list.append(...page.items.map(entry));
    if (list.children.length === 0 && page.nextPageToken === null) list.append(empty(q));
    const next = page.nextPageToken;
    if (next !== null) {
      const go = button(
        WORDS.showMore,
        () => {
          go.remove();
          void more(list, q, read, next);
        },
        { class: "button" },
      );
      list.append(go);
    }
  } catch (error) {
    // The end of the session redraws the library; here it is only reported.
    if (error instanceof Refusal && error.code.startsWith("session_"))
      return void notify({ kind: "info", text: explain(error).sentence });
    const again = h(
      "p",
      { role: "alert" },
      `${explain(error).sentence} `,
      button(
        WORDS.tryAgain,
        () => {
          again.remove();
          void more(list, q, read, token);
        },
        { class: "button" },
      ),
    );
    list.append(again);
  } finally {
    list.setAttribute("aria-busy", "false");
  }
}

function entry(post: HeldPost): HTMLElement {
  const { id, title, description, author, byline, held } = post;
  const arrival =
    held.paid === null
      ? WORDS.givenToYouOn(day(held.boughtAt))
      : WORDS.boughtOnFor(day(held.boughtAt), coin(held.paid));
  return h(
    "article",
    { class: "shelf-post" },
    h("h2", null, h("a", { href: pagePath(post) }, title || WORDS.post(id))),
    description && h("p", null, description),
    h(
      "p",
      { class: "shelf-note" },
      WORDS.arrivedBy(arrival),
      h(
        "a",
        { href: `/a/${author}`, title: byline ? short(author) : author },
        byline ? h("bdi", null, byline.name) : short(author),
      ),
      // Entries are added page by page: any two authors may turn out to have one name.
      byline && h("span", { class: "author-address" }, ` ${short(author)}`),
    ),
  );
}

const empty = (q: string): HTMLElement =>
  q
    ? h("p", null, WORDS.nothingLibraryMatches)
    : h(
        "section",
        { class: "empty" },
        h("h2", null, WORDS.nothingHereYet),
        h("p", null, WORDS.postsBuyOrReceive),
        h("p", null, h("a", { class: "button primary", href: "/" }, WORDS.findSomethingRead)),
      );

/** Everything that the reader holds, as files to keep. */
function downloadButton(): HTMLElement {
  const progress = h("span", { role: "status", "aria-live": "polite" });
  const pack = async () => {
    const { packLibrary } = await import("./download.ts");
    const onPost = (done: number, all: number) => fill(progress, WORDS.packing(done, all));
    // With one session to the end: without it, the service would leave out texts.
    const zip = await withSession(() => packLibrary(reader.as(session.value), { onPost }));
    const href = URL.createObjectURL(zip);
    h("a", { href, download: "library.zip" }).click();
    // The browser may still be reading it.
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  };
  const ask = async () => {
    asked.disabled = true;
    await attempt(pack);
    fill(progress);
    asked.disabled = false;
  };
  const asked = button(WORDS.downloadLibrary, () => void ask(), { class: "button" });
  return h("div", { class: "shelf-download" }, asked, " ", progress);
}

/** A feed of everything that the reader holds, for feed readers. */
function feedButton(): HTMLElement {
  const place = h("div", { class: "shelf-feed" });
  const make = async () => {
    const feed = await withSession(() => reader.addPrivateFeed());
    fill(
      place,
      h("p", { role: "status" }, WORDS.copyLinkNowWont),
      h(
        "p",
        null,
        h("a", { href: feed.atom }, WORDS.atom),
        " · ",
        h("a", { href: feed.json }, "JSON"),
      ),
      h("p", null, h("code", null, feed.atom)),
    );
  };
  // A second request would create another feed, and only one URL would be shown.
  const ask = async () => {
    asked.disabled = true;
    await attempt(make);
    asked.disabled = false;
  };
  const asked = button(WORDS.createPrivateFeed, () => void ask(), { class: "button" });
  place.append(asked);
  return place;
}
