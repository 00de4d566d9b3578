/** The sentences of corrections, loaded on demand. A translation is another such object. */

export const WORDS = {
  // studio/correction/index.tsx
  opening: "Opening the post…",
  heading: (title: string) => `Correct “${title}”`,
  purpose:
    "Readers see the corrected text, with the day and your note. The text as first published stays available to them. The title is on the chain and can’t be changed.",
  notYours: "Only the author of this post can correct it. Connect the wallet that published it.",
  textLabel: "Text of the post, in Markdown",
  noteLabel: "What did you correct?",
  noteHint: "Everybody sees this note. For example: a typo in the second paragraph.",
  noteTooLong: "Make the note shorter, and keep it on one line.",
  changes: "What changes",
  before: "Now",
  after: "Corrected",
  nothingChanged: "Change the text above to see the difference here.",
  sign: "Sign the correction",
  signing: "Waiting for your wallet…",
  published: "Corrected. Readers see the new text now.",
  seePost: "See the post",
} as const;
