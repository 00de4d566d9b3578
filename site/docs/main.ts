/** The script of the documentation: copying, languages, search, sections, and trying operations. */

import { showAccountMenu } from "../reader/account.ts";
import { showThemeSwitch } from "../reader/theme-switch.ts";
import { reconnect } from "../wallet/connection.ts";
import { addCopyButtons } from "./copy-buttons.ts";
import { markCurrentSection } from "./current-section.ts";
import { rememberLanguage } from "./language.ts";
import { addSearch } from "./search.ts";
import { addTrials } from "./trial/index.ts";

addCopyButtons(document);
rememberLanguage();
markCurrentSection();
addSearch();
addTrials();

const account = document.getElementById("account");
if (account) showAccountMenu(account);
void reconnect().catch(() => null);

const footer = document.querySelector("footer");
if (footer) showThemeSwitch(footer);

for (const link of document.querySelectorAll(".menu a"))
  link.addEventListener("click", () => link.closest("details")?.removeAttribute("open"));
