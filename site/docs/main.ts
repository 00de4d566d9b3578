/** The script of the documentation: copying, languages, search, the current section, and trying. */

import { addCopyButtons } from "./copying.ts";
import { markCurrentSection } from "./current-section.ts";
import { rememberLanguage } from "./language.ts";
import { addSearch } from "./search.ts";
import { addTrials } from "./trial.ts";

addCopyButtons(document);
rememberLanguage();
markCurrentSection();
addSearch();
addTrials();
for (const link of document.querySelectorAll(".menu a"))
  link.addEventListener("click", () => link.closest("details")?.removeAttribute("open"));
