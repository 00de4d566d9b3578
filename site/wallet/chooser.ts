/**
 * The dialog in which an account is chosen: a wallet of this browser, or a development account.
 */

import { button, type Child, fill, h } from "../page/dom.ts";
import { isDevelopment } from "../page/facts.ts";
import { short } from "../page/format.ts";
import { WORDS } from "../page/words.ts";
import type { Account } from "./account.ts";
import { addressForApps, drawCode, isHandheld, WALLET_APPS } from "./apps.ts";
import { account, connectWallet, useDevelopmentAccount } from "./connection.ts";
import { developmentAccounts } from "./development.ts";
import { type AnnouncedWallet, wallets } from "./discovery.ts";
import { Cancelled, explain } from "./failures.ts";

/** Where people without a wallet find one. */
const ABOUT_WALLETS = "https://ethereum.org/wallets/";

let choosing: Promise<Account> | null = null;

/** Let the user choose an account. Throws `Cancelled` if the dialog is closed without one. */
export function chooseAccount(): Promise<Account> {
  choosing ??= openDialog().finally(() => {
    choosing = null;
  });
  return choosing;
}

function openDialog(): Promise<Account> {
  return new Promise((resolve, reject) => {
    const dialog = h("dialog", { class: "chooser", "aria-labelledby": "chooser-title" });
    const status = h("p", { class: "chooser-status", role: "status", "aria-live": "polite" });
    const places = [h("div"), h("div")] as const;
    let isDone = false;
    const finish = (chosen: Account) => {
      isDone = true;
      dialog.close();
      resolve(chosen);
    };
    const stop = wallets.subscribe((found) => {
      fill(places[0], ...walletSection(found, (wallet) => void ask(wallet)));
    });
    async function ask(wallet: AnnouncedWallet): Promise<void> {
      dialog.toggleAttribute("data-busy", true);
      status.dataset.kind = "info";
      status.textContent = WORDS.openLetPageSee(wallet.name);
      try {
        const chosen = await connectWallet(wallet);
        if (dialog.open) finish(chosen);
      } catch (error) {
        const { sentence, isCancelled } = explain(error);
        status.dataset.kind = isCancelled ? "info" : "bad";
        status.textContent = isCancelled ? WORDS.notConnected(wallet.name) : sentence;
      } finally {
        dialog.toggleAttribute("data-busy", false);
      }
    }
    dialog.addEventListener("close", () => {
      stop();
      dialog.remove();
      if (!isDone) reject(new Cancelled());
    });
    // A click on the backdrop is a click on the dialog itself. So is one that began on a button
    // which has since moved away.
    let pressed: EventTarget | null = null;
    dialog.addEventListener("pointerdown", ({ target }) => {
      pressed = target;
    });
    dialog.addEventListener("click", ({ target }) => {
      if (target === dialog && pressed === dialog) dialog.close();
    });
    dialog.append(
      h(
        "div",
        { class: "chooser-body" },
        h(
          "header",
          null,
          h("h2", { id: "chooser-title" }, WORDS.signIn),
          button("×", () => dialog.close(), { class: "close", "aria-label": WORDS.close }),
        ),
        places[0],
        status,
        places[1],
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
    if (isDevelopment) void listDevelopment(places[1], finish);
  });
}

function walletSection(
  found: readonly AnnouncedWallet[],
  choose: (wallet: AnnouncedWallet) => void,
): Child[] {
  if (found.length > 0)
    return [
      h("h3", null, WORDS.yourWallet),
      h(
        "ul",
        { class: "choices" },
        found.map((wallet) =>
          h(
            "li",
            null,
            choice(icon(wallet), wallet.name, null, () => choose(wallet)),
          ),
        ),
      ),
    ];
  if (isDevelopment) return [];
  const address = addressForApps(location);
  if (isHandheld(navigator)) return [...appLinks(address), finding(WORDS.noAppYet)];
  return [finding(WORDS.browserNoWalletWallet, WORDS.installThenReload), address && code(address)];
}

/** How somebody without a wallet finds one. */
const finding = (before: string, after = "."): HTMLElement =>
  h(
    "p",
    null,
    before,
    h("a", { href: ABOUT_WALLETS, rel: "noopener noreferrer", target: "_blank" }, WORDS.findWallet),
    after,
  );

/** On a phone, links to the apps in whose browsers this page has a wallet. */
function appLinks(address: string | null): Child[] {
  if (address === null) return [h("p", null, WORDS.appsNeedEncryption)];
  return [
    h("p", null, WORDS.openInApp),
    h(
      "ul",
      { class: "choices" },
      WALLET_APPS.map(({ name, link }) =>
        h(
          "li",
          null,
          h(
            "a",
            { class: "choice", href: link(address), rel: "noopener noreferrer" },
            h("span", { class: "choice-mark", "aria-hidden": "true" }, initial(name)),
            h("span", { class: "choice-name" }, WORDS.openIn(name)),
          ),
        ),
      ),
    ),
  ];
}

/** On a desktop, a code with this page's address for a phone. */
function code(address: string): HTMLElement {
  const picture = h("img", { alt: WORDS.codeOfPage, width: 176, height: 176 });
  const figure = h(
    "figure",
    { class: "chooser-code", hidden: true },
    picture,
    h("figcaption", null, WORDS.scanWithPhone),
  );
  // Without the code the other way is still there.
  drawCode(address).then(
    (url) => {
      picture.src = url;
      figure.hidden = false;
    },
    () => undefined,
  );
  return figure;
}

async function listDevelopment(place: Element, finish: (chosen: Account) => void): Promise<void> {
  fill(place, h("h3", null, WORDS.developmentAccounts), h("p", null, WORDS.loading));
  try {
    const accounts = await developmentAccounts();
    fill(
      place,
      h("h3", null, WORDS.developmentAccounts),
      h("p", { class: "hint" }, WORDS.theyHoldPlayMoney),
      h(
        "ul",
        { class: "choices" },
        accounts.map((each) =>
          h(
            "li",
            null,
            choice(initial(each.name), each.name, short(each.address), () =>
              finish(useDevelopmentAccount(each)),
            ),
          ),
        ),
      ),
    );
  } catch (error) {
    fill(
      place,
      h("h3", null, WORDS.developmentAccounts),
      h("p", { class: "chooser-status", "data-kind": "bad" }, explain(error).sentence),
      button(WORDS.tryAgain, () => void listDevelopment(place, finish), { class: "quiet" }),
    );
  }
}

function choice(mark: Node, name: string, note: string | null, choose: () => void): HTMLElement {
  const isCurrent = note !== null && note === (account.value && short(account.value.address));
  return button(
    h("span", { class: "choice-mark", "aria-hidden": "true" }, mark),
    choose,
    { class: "choice", "aria-current": isCurrent && "true" },
    h("span", { class: "choice-name" }, name),
    note && h("span", { class: "choice-note" }, note),
  );
}

const icon = (wallet: AnnouncedWallet): HTMLElement =>
  wallet.icon
    ? h("img", { src: wallet.icon, alt: "", width: 32, height: 32 })
    : initial(wallet.name);

const initial = (name: string): HTMLElement => h("span", { class: "initial" }, name.slice(0, 1));
