/** The sentences of the import, which is loaded on demand. A translation is another such object. */

import { count } from "../../page/words.ts";

const links = (number: number): string => (number === 1 ? "a link" : "links");
const entries = (number: number): string => count(number, "entry", "entries");

export const WORDS = {
  // studio/import/index.tsx
  whereFilesAre: [
    [
      "Ghost",
      "the JSON file from Settings → Import/Export, and the zip of your images if you have it",
    ],
    ["Substack", "the zip from Settings → Exports"],
    ["Medium", "the zip from Settings → Security and apps → Download your information"],
    ["WordPress", "the XML files from Tools → Export"],
    [
      "Mirror",
      "the JSON files of your posts from Arweave; the signatures in the files are checked",
    ],
    ["Jekyll, Hugo, Obsidian", "the folder with your Markdown files and pictures, or a zip of it"],
  ],
  importing: "Importing",
  signInReason: "to import your posts",
  promise:
    "Bring your posts along. Your files stay in this browser: only the drafts you create are saved. Nothing is published.",
  leftOutLabel: "What was left out",
  oldAddressLabel: "Address of your old site, if you have one",
  oldAddressHint:
    "We use it to complete the addresses of links and pictures, and to say where a post was first published. Nothing is loaded from there.",
  filesLabel: "Files or zips",
  folderLabel: "A folder",
  whereFilesAreHeading: "Where to find your files",
  phases: { reading: "Reading your files", keeping: "Preparing", saving: "Saving drafts" },
  progress: (phase: string, figures: string) => `${phase}: ${figures}`,
  postsSoFar: (posts: number) => `${count(posts, "post")} so far`,
  mayClosePage: "You can close this page. The rest continues when you open it again.",
  createDrafts: (drafts: number) => `Create ${count(drafts, "draft")}`,
  continueDrafts: (drafts: number) => `Continue with ${count(drafts, "draft")}`,
  nothingToCreate: "Nothing to create",
  alreadyImported: (posts: number) => `${count(posts, "post")} already imported.`,
  draftsLink: "Go to your drafts",
  chooseAll: (posts: number) => `All ${count(posts, "post")}`,
  foundPostsLabel: "Posts in your files",
  showAll: (posts: number) => `Show all ${posts}`,
  savesWithoutPrompts: "This browser saves them without asking your wallet.",
  savesAfterOneSignature: "Your wallet signs once and lets this browser save drafts for 24 hours.",
  savesWithASignatureEach: "Your wallet signs each of them.",
  keptNotSaved: "Kept in this browser, not saved yet",
  openImportedDraft: "Imported: open the draft",
  importAgain: "Import again",
  importAgainNamed: (title: string) => `Import ${title} again`,
  picturesInside: (pictures: number) => `${count(pictures, "picture")} inside`,
  changesHeading: "What changes",
  changesIn: (title: string) => `What changes in ${title}`,
  picturesElsewhere: (pictures: number) =>
    `${count(pictures, "picture")} on other sites, kept as links:`,

  // studio/import/import-ports.ts
  importedFrom: (service: string) => `Imported from ${service}`,
  signatureDeclined: "Your wallet didn’t sign, so nothing was imported.",
  saveNotTaken: "The service didn’t accept this save. Continue the import.",
  draftChangedElsewhere: "The draft was changed elsewhere. Open it from your drafts.",

  // studio/import/import-state.ts
  noPostsFound: "No posts were found in these files.",

  // studio/import/importer.ts
  filesUnreadable: "These files can’t be read. Choose them again.",
  otherTabImports: "Another tab of this browser is importing. Wait until it’s done.",
  draftTooLarge: "The text is too large for a draft.",
  someFailed: (posts: number) =>
    `${count(posts, "post")} couldn’t be imported. See the list for the reasons.`,
  picturesMissing: (names: string) => `Missing pictures: ${names}.`,

  // studio/import/formats/archive.ts
  tooManyPosts: (most: number) =>
    `Only the first ${count(most, "post")} are shown. Import the rest afterwards.`,
  foundTwice: (posts: number) => `${count(posts, "post")} found twice, shown once.`,
  textUnreadable: "Its text can’t be read.",
  invalidJson: (path: string) => `${path} isn’t valid JSON.`,
  missingInSubstack: (posts: number) =>
    `${count(posts, "post")} in Substack’s list came without a text. Export again in a few hours: the newest posts arrive late.`,

  // studio/import/formats/files.ts
  zipUnreadable: (path: string) => `${path} can’t be read as a zip file. Is the download complete?`,
  unsafeEntries: (path: string, number: number) =>
    `${path}: ${entries(number)} with unsafe names left out.`,
  encryptedEntries: (path: string, number: number) =>
    `${path}: ${entries(number)} with a password left out.`,
  tooManyFiles: (most: number) =>
    `There are more than ${count(most, "file")}. Choose fewer, such as one folder.`,
  fileTooLarge: (path: string, limit: string) => `${path} is larger than ${limit}.`,
  zipBomb: (path: string) => `${path} is packed like a zip bomb.`,
  archiveTooLarge: (limit: string) => `The archive has more than ${limit} in it.`,
  entryDamaged: (path: string) => `${path} is damaged in its archive.`,
  textTooLong: "It has more than a million characters.",

  // studio/import/formats/found-post.ts
  originallyPublished: (day: string | null, address: string | null, signer: string | null) =>
    `Originally published${day ? ` on ${day}` : ""}${address ? ` at ${address}` : ""}${signer ? `, signed by ${signer}` : ""}.`,

  // What a post was at the service it comes from.
  wasDraft: "It was a draft there.",
  wasPage: "It was a page there, not a post.",
  wasScheduled: "It was scheduled there, but not published yet.",
  wasEmail: "It was sent by email only.",
  wasPrivate: "It was private there.",
  wasOfType: (type: string) => `It was a ${type} there.`,
  wasForMembers: "It was for members there. Set a price when you publish it.",
  wasForPayingMembers: "It was for paying members there. Set a price when you publish it.",
  wasForPayingSubscribers: "It was for paying subscribers there. Set a price when you publish it.",
  hadPassword: "It had a password there.",
  perhapsComment: "Perhaps a comment: Medium exports comments as posts.",
  signatureProved: (signer: string) => `Proved: signed by ${signer}.`,
  signerUnproved:
    "Not proved: the text is intact, but the signature wasn’t made with the wallet’s own key. A contract wallet or a delegate may have signed.",
  signatureWrong: "Not proved: the text and its signature don’t match.",

  // What stays behind.
  podcastStays: "The recording of the podcast stays at Substack.",
  commentsStay: (comments: number) => `Comments (${comments}) stay behind.`,
  tokenStays: "Its token and collectors stay where they are.",
  frontMatterUnreadable: "The front matter couldn’t be read, so it stays in the text.",
  oldEncoding: "The file isn’t UTF-8: check letters with accents.",
  wikiLinksLost: (number: number) =>
    `${count(number, "link")} between notes turned into plain text.`,
  shortcodesChanged: (number: number) =>
    `${count(number, "shortcode")} left out or turned into ${links(number)}.`,
  picturesNotInFolder: (number: number) =>
    `${count(number, "picture")} not found in the files: choose the whole folder.`,

  // studio/import/formats/html.ts
  losses: {
    embed: (number: number) => `${count(number, "embed")} became ${links(number)}.`,
    media: (number: number) => `${count(number, "audio or video file")} became ${links(number)}.`,
    file: (number: number) => `${count(number, "attached file")} became ${links(number)}.`,
    gallery: (number: number) => `${count(number, "gallery", "galleries")} became single pictures.`,
    button: (number: number) => `${count(number, "button")} left out.`,
    form: (number: number) => `${count(number, "form or poll", "forms or polls")} left out.`,
    product: (number: number) => `${count(number, "product card")} became plain text.`,
    shortcode: (number: number) => `${count(number, "shortcode")} left out.`,
    link: (number: number) =>
      `${count(number, "link")} within the old site lost ${number === 1 ? "its address" : "their addresses"}: enter that site’s address above, then choose the files again.`,
    picture: (number: number) =>
      `${count(number, "picture")} not found in the files: choose the pictures together with the posts.`,
    drawing: (number: number) => `${count(number, "drawing")} (SVG) left out.`,
    paywall: () => "The paid part begins below the line “<!--more-->”.",
  },
  tooManyElements: "Its HTML has too many elements.",
  htmlTooLarge: "Its HTML is too large.",
  htmlTooDeep: "Its HTML is nested too deeply.",
  pictureInText: "A picture within the text",

  // studio/import/formats/ghost.ts
  exportedTextDamaged: "Its text is damaged in the export.",

  // studio/import/formats/wordpress.ts
  xmlTooDeep: "The XML is nested too deeply.",
  tooManyItems: "The export has too many items.",
} as const;
