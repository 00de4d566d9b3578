/**
 * Applies the chosen theme, light or dark: a classic script in the head, so that nothing flashes.
 */

let chosen: string | null = null;
try {
  chosen = localStorage.getItem("imprint.theme");
} catch {
  // Storage may be forbidden; then the system decides.
}
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
