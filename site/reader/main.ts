/** What every page runs: the account menu, and the parts that this page has. */

import { reconnect } from "../wallet/connection.ts";
import { showAccountMenu } from "./account.ts";
import { showThemeSwitch } from "./theme-switch.ts";

const account = document.getElementById("account");
if (account) showAccountMenu(account);

const footer = document.querySelector("footer.bottom");
if (footer) showThemeSwitch(footer);

const isReconnected = reconnect().catch(() => null);

const post = document.getElementById("post");
const gate = document.getElementById("gate");
// The text of a free post is on the page already, and nothing more has to be loaded for it.
if (post && gate && post.dataset.free === "false") {
  void import("./gate.ts").then(({ openGate }) => openGate(post, gate, isReconnected));
}

const proof = document.getElementById("proof");
if (post && proof) {
  const load = () => void import("./proof.ts").then(({ showProof }) => showProof(post, proof));
  proof.addEventListener("toggle", load, { once: true });
}

const library = document.getElementById("library");
if (library) void import("./library.ts").then(({ showLibrary }) => showLibrary(library));

if (document.querySelector(".card"))
  void isReconnected.then(() => import("./marks.ts")).then(({ markCards }) => markCards());
