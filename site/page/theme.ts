/**
 * Applies the chosen theme, light or dark, and notes whether somebody has signed in: a classic
 * script in the head, so that nothing flashes.
 */

let chosen: string | null = null;
let session: string | null = null;
try {
  chosen = localStorage.getItem("imprint.theme");
  session = localStorage.getItem("imprint.session");
} catch {
  // Storage may be forbidden; then the system decides.
}
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
if (session !== null) document.documentElement.dataset.reader = "";
