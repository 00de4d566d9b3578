/** Marks the current section in the table of contents. */

export function markCurrentSection(): void {
  const links = new Map<string, HTMLAnchorElement>();
  for (const link of document.querySelectorAll<HTMLAnchorElement>(".contents li li a"))
    links.set(link.hash.slice(1), link);
  const targets = [...links.keys()].flatMap((id) => document.getElementById(id) ?? []);
  let current: HTMLAnchorElement | undefined;
  const mark = (): void => {
    // The last section that begins above the upper third of the window.
    const line = innerHeight / 3;
    const begun = targets.filter((each) => each.getBoundingClientRect().top <= line);
    const link = links.get(begun.at(-1)?.id ?? "");
    if (link === current) return;
    current?.removeAttribute("aria-current");
    link?.setAttribute("aria-current", "location");
    current = link;
    if (link) show(link);
  };
  // Called whenever a section comes into view or leaves it, and not at every scroll event.
  const observer = new IntersectionObserver(mark, {
    rootMargin: "0px 0px -66% 0px",
    threshold: [0, 1],
  });
  for (const target of targets) observer.observe(target);
  mark();
}

/** Scroll the table of contents, and nothing else, until a link is visible. */
function show(link: HTMLElement): void {
  const list = link.closest<HTMLElement>(".contents");
  if (!list) return;
  const { top, bottom } = link.getBoundingClientRect();
  const frame = list.getBoundingClientRect();
  if (top < frame.top || bottom > frame.bottom)
    list.scrollTop += top - frame.top - frame.height / 3;
}
