/** The sample posts: their texts, and their data on the chain. */

import type { Picture, Portrait } from "./pictures.ts";
import backupNames from "./texts/backup-names.md";
import balanceSheet from "./texts/balance-sheet.md";
import footnote from "./texts/footnote.md";
import grammarOfMaps from "./texts/grammar-of-maps.md";
import harbourInventory from "./texts/harbour-inventory.md";
import heron from "./texts/heron.md";
import kilometre from "./texts/kilometre.md";
import lampTrimmer from "./texts/lamp-trimmer.md";
import nextTenant from "./texts/next-tenant.md";
import ryeBread from "./texts/rye-bread.md";
import secondDraft from "./texts/second-draft.md";
import wrongClock from "./texts/wrong-clock.md";

export interface Sample {
  readonly text: string;
  /** The number of the development account that is the author. */
  readonly author: number;
  readonly description: string;
  /** In the coin of the chain; "0" is free. */
  readonly price: string;
  readonly hashtags: readonly string[];
  readonly picture: Picture;
  /** The numbers of the accounts that buy the post. */
  readonly buyers: readonly number[];
}

/** The profile of an author. */
export interface SampleAuthor {
  readonly name: string;
  readonly bio: string;
  readonly portrait: Portrait;
}

const [ADA, BEN, CLEO, DAN, EVA, FINN, , HANA] = [0, 1, 2, 3, 4, 5, 6, 7] as const;

/** The profiles of the authors, by the number of their account. */
export const AUTHORS: ReadonlyMap<number, SampleAuthor> = new Map([
  [
    ADA,
    {
      name: "Ada Lindqvist",
      bio: "Essays, letters and the odd poem, written in a house by the harbour.",
      portrait: { colours: ["#dfe7ee", "#f0c9a8", "#6b3f2a", "#24479e"], hair: "bun" },
    },
  ],
  [
    DAN,
    {
      name: "Dan Okafor",
      bio: "Engineer by day, baker by night. Writes about money, bread and machines that wait.",
      portrait: { colours: ["#f4e3c8", "#8d5a3c", "#2a1c17", "#26413c"], hair: "short" },
    },
  ],
  [
    HANA,
    {
      name: "Hana Mori",
      bio: "Walks, counts and draws. Field notes from rivers, roads and old maps.",
      portrait: { colours: ["#e3eadb", "#eac39c", "#1f1a1e", "#a3523f"], hair: "curls" },
    },
  ],
]);

/** The sample posts, oldest first: the last one is at the top of the front page. */
export const SAMPLES: readonly Sample[] = [
  {
    text: backupNames,
    author: ADA,
    description: "Two rules for the names of files, after which no evening is lost any more.",
    price: "0",
    hashtags: ["howto", "shell", "backups"],
    picture: { motif: "papers", colours: ["#1f3a4d", "#e9b44c", "#f4efe6"] },
    buyers: [],
  },
  {
    text: balanceSheet,
    author: DAN,
    description: "Where the plot of an annual report is, and which line to follow first.",
    price: "0.004",
    hashtags: ["money", "howto", "reading"],
    picture: { motif: "books", colours: ["#26413c", "#d9a25f", "#efe9dc"] },
    buyers: [BEN, EVA],
  },
  {
    text: ryeBread,
    author: DAN,
    description: "A loaf that waits for you. Two short visits to the kitchen, one long sleep.",
    price: "0",
    hashtags: ["recipes", "bread", "kitchen"],
    picture: { motif: "loaf", colours: ["#5b3a29", "#e8c07d", "#f7eedd"] },
    buyers: [],
  },
  {
    text: kilometre,
    author: HANA,
    description: "A year of journeys in one table, and a column that was not planned.",
    price: "0.003",
    hashtags: ["travel", "numbers", "walking"],
    picture: { motif: "hills", colours: ["#2f4858", "#8fb996", "#f6f1e7"] },
    buyers: [ADA, CLEO, FINN],
  },
  {
    text: harbourInventory,
    author: ADA,
    description: "A poem, with gulls.",
    price: "0",
    hashtags: ["poetry", "sea", "november"],
    picture: { motif: "waves", colours: ["#173042", "#7fa8b8", "#e9eef0"] },
    buyers: [],
  },
  {
    text: wrongClock,
    author: DAN,
    description: "My uncle kept two clocks. What that has to do with caches that expire.",
    price: "0.005",
    hashtags: ["engineering", "time", "trains"],
    picture: { motif: "clock", colours: ["#2b2d42", "#ef8354", "#edf2f4"] },
    buyers: [ADA, BEN],
  },
  {
    text: grammarOfMaps,
    author: HANA,
    description: "Nouns, verbs, tense and negation on paper, and how to find a map's dog.",
    price: "0",
    hashtags: ["maps", "design", "essays"],
    picture: { motif: "contours", colours: ["#3d405b", "#e07a5f", "#f4f1de"] },
    buyers: [],
  },
  {
    text: nextTenant,
    author: ADA,
    description: "About the apple tree, the mint, the blackbird, and what flowers at night.",
    price: "0.002",
    hashtags: ["letters", "gardens"],
    picture: { motif: "leaves", colours: ["#283618", "#bc9b5d", "#fefae0"] },
    buyers: [BEN, CLEO, DAN, EVA],
  },
  {
    text: heron,
    author: HANA,
    description: "Field notes from a weir, four degrees, minute by minute.",
    price: "0.002",
    hashtags: ["fieldnotes", "birds", "rivers"],
    picture: { motif: "waves", colours: ["#344e41", "#a3b18a", "#eef0e6"] },
    buyers: [ADA],
  },
  {
    text: footnote,
    author: ADA,
    description: "Three things that a good note does, with notes.",
    price: "0.003",
    hashtags: ["essays", "books", "typography"],
    picture: { motif: "books", colours: ["#4a2c40", "#e9b7ce", "#f7f0f3"] },
    buyers: [DAN, HANA],
  },
  {
    text: lampTrimmer,
    author: DAN,
    description: "A story. When the light became electric, nobody told the man with the scissors.",
    price: "0.01",
    hashtags: ["fiction", "shortstory", "lighthouses", "sea"],
    picture: { motif: "lighthouse", colours: ["#0b1d33", "#f2c14e", "#dfe7ee"] },
    buyers: [ADA, BEN, CLEO],
  },
  {
    text: secondDraft,
    author: ADA,
    description: "Why two people should write everything, even if both of them are you.",
    price: "0",
    hashtags: ["writing", "craft", "essays"],
    picture: { motif: "papers", colours: ["#22223b", "#c9ada7", "#f2e9e4"] },
    buyers: [],
  },
];

/** The title of a sample: its first heading. */
export function titleOf(sample: Sample): string {
  return /^# (.+)$/m.exec(sample.text)?.[1] ?? "";
}
