/** The sentences of the documentation's scripts. A translation is another such object. */

export const WORDS = {
  pictureFormats: "PNG, JPEG or WebP",

  // docs/copy-buttons.ts
  copy: "Copy",
  copied: "Copied",

  // docs/search-index.ts
  errorCode: "Error code",

  // docs/search.ts
  search: "Search",
  searchOperationsErrorsFields: "Search operations, errors, fields and the guide",
  operationErrorField: "Operation, error, field …",
  useArrowKeysChoose: "Use the arrow keys to choose, Enter to open, Escape to close.",
  noResults: "No results.",

  // docs/trial/confirmation.ts
  cantUndone: "This can’t be undone",
  takesEffectServiceOnce: " takes effect on this service at once.",
  dontSend: "Don’t send",
  deleteDraft: "Delete the draft",
  send: "Send",

  // docs/trial/exchange.ts
  serviceDoesNotRespond: "The service isn’t responding.",
  aForm: "(a form)",
  charactersMore: (slice: string | number, value: string | number) => `${slice}
… and ${value} more characters`,

  // docs/trial/form.ts
  headers: "Headers",
  optional: (kind: string | number) => `${kind}, optional`,
  withCommas: "separated by commas",
  createUpdateDrafts: "create and update drafts",
  createDraftsOnly: "create drafts only",
  updateDraftsOnly: "update drafts only",
  throwAwayAfterResponse: "throw it away after the response",
  keepBrowserStudio: "keep it in this browser, for the Studio",
  whatKeyMayDo: "what the key may do",
  howLongLasts: "how long it lasts",
  p256KeyMade: "a P-256 key, generated in this browser",

  // docs/trial/index.ts
  tryIt: "Try it",
  waitingResponse: "Waiting for the response…",
  keyBrowserWhereNo:
    "Its key is in this browser, where no script can read it. The Studio uses it to save drafts.",
  keyGoneNobodyCan:
    "Its key is gone, so nobody can write with this session. It still counts towards the limit until it expires.",
  revokeIt: "Revoke it",
  signedWhenSend: (name: string | number) => `Signed by ${name} when you send it.`,
  youllChooseAccountFirst: "You’ll choose an account first; it signs this request.",
  sentSession: (reader: string | number) => `Sent with the session of ${reader}.`,
  youllSignFirst: "You’ll sign in first.",
  sentSessionWhichCan: (reader: string | number) =>
    `Sent with the session of ${reader}: posts that this account owns are readable.`,
  sentWithoutSessionOnly: "Sent without a session: only free posts are readable.",

  // docs/trial/result.ts
  theResponseIs: (title: string | number) => `The response is ${title}.`,
  responseNoBody: "The response has no body.",
  whatSent: "What was sent",
  whatMeans: (code: string | number) => `What ${code} means`,

  // docs/trial/transmission.ts
  nothingSent: "Nothing was sent.",
  choosePicturePngJpeg: "Choose a picture: PNG, JPEG or WebP.",
  keyWrite: "A key to write with",
  pageDoesntKnowHow: (name: string | number) => `This page doesn’t know how to sign ${name}.`,

  numberFound: (number: number) => `${number} found`,
  bytesOf: (number: number, mediaType: string) => `${number} bytes of ${mediaType}`,
} as const;
