/** The form of an operation: a field for each parameter and for the parts of its body. */

import { effect } from "@preact/signals-core";
import { type Child, h } from "../../page/dom.ts";
import { WORDS } from "../words.ts";
import { known } from "./discovery.ts";
import { suggest } from "./known-values.ts";
import type { Operation, Parameter } from "./request.ts";

/** All fields, with the rarely needed ones collapsed. */
export function buildFields(operation: Operation): HTMLElement[] {
  const fields = operation.parameters.map((each) => ({
    isRare: each.in === "header",
    field: parameterField(operation, each),
  }));
  const rare = fields.filter(({ isRare }) => isRare).map(({ field }) => field);
  return [
    ...fields.filter(({ isRare }) => !isRare).map(({ field }) => field),
    ...bodyFields(operation),
    ...(rare.length > 0
      ? [h("details", { class: "rare" }, h("summary", null, WORDS.headers), ...rare)]
      : []),
  ];
}

function parameterField(operation: Operation, parameter: Parameter): HTMLElement {
  const { name, required, options, kind } = parameter;
  const note = required ? kind : WORDS.optional(kind);
  return labelled(operation.name, name, note, (id) => {
    if (options.length > 0)
      return h("select", { id, name }, ...[...(required ? [] : [""]), ...options].map(option));
    const input = h("input", { id, name, required, spellcheck: "false", autocomplete: "off" });
    suggestInto(input, operation, parameter);
    return input;
  });
}

/** Fill in values that work here, until the user types something else. */
function suggestInto(input: HTMLInputElement, operation: Operation, parameter: Parameter): void {
  let isTyped = false;
  input.addEventListener("input", () => {
    isTyped = true;
  });
  effect(() => {
    const value = suggest(operation, parameter, known.value);
    if (!isTyped) input.value = value;
  });
}

const option = (value: string): HTMLElement => h("option", { value }, value || "–");

/** Fields for a body: texts and a picture if a wallet signs it, otherwise its JSON. */
function bodyFields(operation: Operation): HTMLElement[] {
  const { body, access, name } = operation;
  if (name === "openWritingSession") return writingSessionFields(name);
  if (!body) return [];
  if (access !== "wallet") return [area(name, "body", JSON.stringify(body, null, 2), "JSON")];
  return Object.entries(body).map(([member, example]) => {
    if (member === "file") return fileField(name);
    return area(name, member, String(example), member === "hashtags" ? WORDS.withCommas : "text");
  });
}

function area(operation: string, name: string, value: string, note: string): HTMLElement {
  const rows = Math.min(8, value.split("\n").length + 1);
  return labelled(operation, name, note, (id) => h("textarea", { id, name, rows }, value));
}

function fileField(operation: string): HTMLElement {
  const accept = "image/png,image/jpeg,image/webp";
  return labelled(operation, "file", WORDS.pictureFormats, (id) =>
    h("input", { id, name: "file", type: "file", required: true, accept }),
  );
}

/** Fields for what a key may do, for how long, and whether it is stored. */
function writingSessionFields(operation: string): HTMLElement[] {
  const choose = (name: string, choices: [string, string][]) => (id: string) =>
    h("select", { id, name }, ...choices.map(([value, label]) => h("option", { value }, label)));
  const actions = choose("actions", [
    ["create,update", WORDS.createUpdateDrafts],
    ["create", WORDS.createDraftsOnly],
    ["update", WORDS.updateDraftsOnly],
  ]);
  const seconds = choose("seconds", [
    ["3600", "1 hour"],
    ["28800", "8 hours"],
    ["86400", "24 hours"],
  ]);
  const key = choose("key", [
    ["discard", WORDS.throwAwayAfterResponse],
    ["keep", WORDS.keepBrowserStudio],
  ]);
  return [
    labelled(operation, "actions", WORDS.whatKeyMayDo, actions),
    labelled(operation, "expires", WORDS.howLongLasts, seconds),
    labelled(operation, "key", WORDS.p256KeyMade, key),
  ];
}

function labelled(
  operation: string,
  name: string,
  note: string,
  build: (id: string) => Child,
): HTMLElement {
  const id = `try-${operation}-${name}`;
  const label = h("label", { for: id }, name, " ", h("small", null, note));
  return h("div", { class: "field" }, label, build(id));
}
