/** The switch between light and dark in the footer; `page/theme.ts` applies it before painting. */

import { button } from "../page/dom.ts";
import { WORDS } from "./words.ts";

const KEY = "imprint.theme";

/** Add the switch to the footer. */
export function showThemeSwitch(footer: Element): void {
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ?? (prefersDark.matches ? "dark" : "light")) === "dark";
  const label = () => (isDark() ? WORDS.lightMode : WORDS.darkMode);
  const control = button(
    label(),
    () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      try {
        localStorage.setItem(KEY, root.dataset.theme);
      } catch {
        // A browser that stores nothing keeps it until the next page.
      }
      control.textContent = label();
    },
    { class: "theme-switch" },
  );
  footer.append(control);
}
