/** The request of an operation, built from its form. */

export interface Parameter {
  name: string;
  in: "query" | "path" | "header";
  required: boolean;
  example: string;
  kind: string;
  options: string[];
}

export interface Operation {
  name: string;
  method: "GET" | "POST" | "DELETE";
  path: string;
  access: "none" | "optional" | "session" | "wallet";
  parameters: Parameter[];
  /** The members of the body that need no signature, with their examples. */
  body?: Record<string, unknown>;
}

/** The values of a form's fields, by name; empty fields are not sent. */
export type Values = Readonly<Record<string, string>>;

/** The path and query of a request. */
export function addressOf(operation: Operation, values: Values): string {
  const query = new URLSearchParams();
  let path = operation.path;
  for (const { name, in: place } of operation.parameters) {
    const value = values[name] ?? "";
    if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (place === "query" && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/** The headers of a request that its form sets. */
export function headersOf(operation: Operation, values: Values): Record<string, string> {
  const sent = operation.parameters.filter(
    ({ in: place, name }) => place === "header" && values[name],
  );
  return Object.fromEntries(sent.map(({ name }) => [name, values[name] ?? ""]));
}

/** Whether the request irreversibly removes something. */
export const isDestructive = ({ name, method }: Operation): boolean =>
  method === "DELETE" || /^(delete|logout|rotate)/.test(name);
