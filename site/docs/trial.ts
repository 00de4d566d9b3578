/** *Try it*: the form of every operation, and the response that came. */

import { button, fill, h } from "../page/dom.ts";
import { short } from "../page/format.ts";
import { announce } from "../page/notices.ts";
import { account, connect, explain, session, signOut } from "../wallet/index.ts";
import { addCopyButtons } from "./copying.ts";
import type { Exchange } from "./exchange.ts";
import { isDestructive, type Operation, type Parameter, type Values } from "./request.ts";
import { send } from "./sending.ts";

const NEEDS: Record<Operation["access"], string> = {
  none: "",
  optional: "With a session you see what only you may read; without one, what is free.",
  session: "This asks you to sign in first, if you have not yet.",
  wallet: "Your account signs this freshly when you send it.",
};

export function addTrials(): void {
  const text = document.getElementById("operations")?.textContent ?? "[]";
  for (const operation of JSON.parse(text) as Operation[]) {
    const sample = document.querySelector(`[data-try="${operation.name}"] .sample`);
    const trial = h("details", { class: "try" }, h("summary", null, "Try it"));
    // Some fifty forms: each is made when it is opened.
    trial.addEventListener("toggle", () => trial.append(...buildForm(operation)), { once: true });
    sample?.append(trial);
  }
  addAccount();
}

/** Who one is, beside the search. */
function addAccount(): void {
  const place = h("div", { class: "who" });
  document.getElementById("tools")?.append(place);
  const show = (): void => {
    const known = account.value?.address ?? session.value?.address;
    if (known)
      fill(
        place,
        h("span", { class: "who-name", title: known }, account.value?.name ?? short(known)),
        button("Sign out", () => void signOut(), { class: "plain" }),
      );
    else
      fill(
        place,
        button("Choose account", () => void connect().catch(() => {}), {}),
      );
  };
  account.subscribe(show);
  session.subscribe(show);
}

function buildForm(operation: Operation): HTMLElement[] {
  const result = h("div", { class: "result", role: "status", "aria-live": "polite" });
  const submit = h("button", { class: "primary" }, isDestructive(operation) ? "Send it" : "Send");
  const form = h(
    "form",
    { onsubmit: (event) => void onSubmit(event) },
    ...operation.parameters.map((each) => parameterField(operation, each)),
    ...bodyFields(operation),
    NEEDS[operation.access] && h("p", { class: "hint" }, NEEDS[operation.access]),
    submit,
  );
  async function onSubmit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (isDestructive(operation) && !(await confirmed(operation))) return;
    submit.disabled = true;
    fill(result, h("p", { class: "hint" }, "Waiting for the response …"));
    try {
      const data = new FormData(form);
      const exchange = await send(operation, textsOf(data), fileOf(data));
      fill(result, ...showExchange(exchange));
      addCopyButtons(result);
    } catch (error) {
      const { sentence } = explain(error);
      fill(result, h("p", { class: "failed" }, sentence));
    } finally {
      submit.disabled = false;
    }
  }
  return [form, result];
}

function parameterField(operation: Operation, parameter: Parameter): HTMLElement {
  const { name, required, options, kind } = parameter;
  const id = `try-${operation.name}-${name}`;
  const field =
    options.length > 0
      ? h("select", { id, name }, ...[...(required ? [] : [""]), ...options].map(option))
      : h("input", {
          id,
          name,
          required,
          value: required ? parameter.example : "",
          spellcheck: "false",
        });
  const note = required ? kind : `${kind}, optional`;
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, name, " ", h("small", null, note)),
    field,
  );
}

const option = (value: string): HTMLElement => h("option", { value }, value || "–");

/** Fields for what a body has: text, a picture, or the JSON of what needs no signature. */
function bodyFields(operation: Operation): HTMLElement[] {
  const { body, access, name } = operation;
  if (!body) return [];
  if (access !== "wallet") return [area(name, "body", JSON.stringify(body, null, 2), "JSON")];
  return Object.entries(body).map(([member, example]) => {
    if (member === "file") return fileField(name);
    return area(name, member, String(example), member === "hashtags" ? "with commas" : "text");
  });
}

function area(operation: string, name: string, value: string, note: string): HTMLElement {
  const id = `try-${operation}-${name}`;
  const rows = Math.min(8, value.split("\n").length + 1);
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, name, " ", h("small", null, note)),
    h("textarea", { id, name, rows }, value),
  );
}

function fileField(operation: string): HTMLElement {
  const id = `try-${operation}-file`;
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, "file ", h("small", null, "PNG, JPEG or WebP")),
    h("input", {
      id,
      name: "file",
      type: "file",
      required: true,
      accept: "image/png,image/jpeg,image/webp",
    }),
  );
}

/** Whether the user wants what cannot be undone. */
function confirmed(operation: Operation): Promise<boolean> {
  return new Promise((resolve) => {
    const dialog = h("dialog", { class: "confirm", "aria-labelledby": "confirm-title" });
    const end = (answer: boolean): void => {
      resolve(answer);
      dialog.close();
      dialog.remove();
    };
    dialog.addEventListener("cancel", () => end(false));
    dialog.append(
      h("h2", { id: "confirm-title" }, "This cannot be undone"),
      h("p", null, `${operation.method} ${operation.path} takes effect on this service at once.`),
      button("Keep it", () => end(false), { autofocus: true }),
      button("Send it", () => end(true), { class: "primary" }),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}

function showExchange(exchange: Exchange): HTMLElement[] {
  const { status, statusText, milliseconds, headers, text, body, method, address } = exchange;
  const title = `${status} ${statusText}`.trim();
  announce(`The response is ${title}.`);
  const place = new URL(address, location.origin);
  const code = (source: string) => h("div", { class: "code" }, h("pre", { tabindex: 0 }, source));
  return [
    h(
      "p",
      { class: status < 400 ? "came" : "refused" },
      h("strong", null, title),
      ` in ${Math.round(milliseconds)} ms`,
    ),
    h("p", { class: "sent" }, `${method} ${place.pathname}${place.search}`),
    ...(headers.length > 0
      ? [code(headers.map(([name, value]) => `${name}: ${value}`).join("\n"))]
      : []),
    ...(text ? [code(text)] : [h("p", { class: "hint" }, "No body.")]),
    ...(body ? [h("details", null, h("summary", null, "What was sent"), code(body))] : []),
  ];
}

function textsOf(data: FormData): Values {
  const texts = [...data].filter((pair): pair is [string, string] => typeof pair[1] === "string");
  return Object.fromEntries(texts);
}

function fileOf(data: FormData): File | null {
  const file = data.get("file");
  return file instanceof File && file.size > 0 ? file : null;
}
