/** The result: the response to a request, with the request as it was sent. */

import { type Child, h } from "../../page/dom.ts";
import { announce } from "../../page/notices.ts";
import { WORDS } from "../words.ts";
import type { Exchange } from "./exchange.ts";

/** The elements that show an exchange; screen readers announce its status. */
export function showExchange(exchange: Exchange): Child[] {
  const { status, statusText, milliseconds, headers, text, body, method, address } = exchange;
  const title = `${status} ${statusText}`.trim();
  announce(WORDS.theResponseIs(title));
  const { pathname, search } = new URL(address, location.origin);
  return [
    h(
      "p",
      { class: "outcome" },
      h("strong", { class: status < 400 ? "came" : "refused" }, title),
      h("span", { class: "hint" }, `${Math.round(milliseconds)} ms`),
    ),
    h("p", { class: "sent" }, `${method} ${pathname}${search}`),
    text ? code(text) : h("p", { class: "hint" }, WORDS.responseNoBody),
    headers.length > 0 &&
      folded(WORDS.headers, headers.map(([n, value]) => `${n}: ${value}`).join("\n")),
    body !== null && folded(WORDS.whatSent, body),
    explanation(text),
  ];
}

/** A link to the meaning of a refusal's code. */
function explanation(text: string): Child {
  const code = /"code": "(\w+)"/.exec(text)?.[1];
  if (!code || !document.getElementById(`error-${code}`)) return null;
  return h("p", { class: "hint" }, h("a", { href: `#error-${code}` }, WORDS.whatMeans(code)));
}

const folded = (title: string, source: string): HTMLElement =>
  h("details", null, h("summary", null, title), code(source));

const code = (source: string): HTMLElement =>
  h("div", { class: "code" }, h("pre", { tabindex: 0 }, source));
