/** Builds elements. Children are elements or text, never markup. */

export type Child = Node | string | number | null | undefined | false;

type Handlers = {
  [Name in keyof GlobalEventHandlersEventMap as `on${Name}`]?: (
    event: GlobalEventHandlersEventMap[Name],
  ) => void;
};

/** Attributes by name; `true` sets an empty one, `false` and null leave it out. */
type Props = Handlers & { [name: string]: unknown };

/** An element with attributes, event handlers (`onclick`) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props | null = null,
  ...children: (Child | Child[])[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (typeof value === "function")
      element.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, String(value));
  }
  element.append(...present(children));
  return element;
}

/** Replace the children of an element. */
export function fill(element: Element, ...children: (Child | Child[])[]): void {
  element.replaceChildren(...present(children));
}

/** A button; `type` is never submit by accident. */
export function button(
  label: Child,
  onclick: (event: MouseEvent) => void,
  props: Props = {},
  ...more: Child[]
): HTMLButtonElement {
  return h("button", { type: "button", ...props, onclick }, label, ...more);
}

/** Draw an element again; the keyboard focus stays on the control with the same name, or near it. */
export function keepingFocus(place: Element, draw: () => void): void {
  const find = () => [...place.querySelectorAll<HTMLElement>("summary, button, input, a[href]")];
  const focused = document.activeElement;
  const at = find().indexOf(focused as HTMLElement);
  draw();
  if (at < 0) return;
  const controls = find().filter((each) => !each.hasAttribute("disabled"));
  const same = controls.find((each) => nameOf(each) === nameOf(focused));
  // In a list, the next control of the same kind, or else the one before.
  const next =
    controls[at]?.tagName === focused?.tagName ? controls[at] : controls.at(at && at - 1);
  (same ?? next ?? controls.at(-1))?.focus();
}

const nameOf = (control: Element | null): string | null =>
  control && (control.getAttribute("aria-label") ?? (control.id || control.textContent));

function present(children: (Child | Child[])[]): (Node | string)[] {
  return children
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (typeof child === "number" ? String(child) : (child as Node | string)));
}
