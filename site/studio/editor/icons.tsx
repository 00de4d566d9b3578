/** The signs on the buttons above the text, drawn with one line each. */

const LINES = {
  Heading: "M6 4v16M18 4v16M6 12h12",
  Link: "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1.6 1.6M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7l1.6-1.6",
  List: "M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01",
  "Numbered list":
    "M10 6h10M10 12h10M10 18h10M4 4.5 5.5 4v5M3.8 15.5a1.4 1.4 0 1 1 2.2 1.1L4 19.5h2.5",
  Quotation: "M5 5v14M10 7h10M10 12h10M10 17h6",
  Code: "m8 7-5 5 5 5M16 7l5 5-5 5",
  Picture: "M4 5h16v14H4zM4 16l4.5-4.5 4 4 3-3L20 17M15 9.2h.01",
} as const;

export type Drawn = keyof typeof LINES;

export const Icon = ({ name }: { name: Drawn }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={LINES[name]} />
  </svg>
);
