/** The language of the examples: chosen once for all of them, and remembered. */

import { recall, remember } from "../page/storage.ts";

const KEY = "imprint.docs.language";

export function rememberLanguage(): void {
  const inputs = [...document.querySelectorAll<HTMLInputElement>(".languages input")];
  const choose = (language: string): void => {
    for (const input of inputs) if (input.value === language) input.checked = true;
  };
  const kept = recall<string>(KEY);
  if (kept) choose(kept);
  for (const input of inputs)
    input.addEventListener("change", () => {
      // The visible example must not move, whatever grows above it.
      const before = input.getBoundingClientRect().top;
      choose(input.value);
      remember(KEY, input.value);
      scrollBy(0, input.getBoundingClientRect().top - before);
    });
}
