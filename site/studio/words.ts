/** The sentences of the Studio. A translation is another such object. */

import { count } from "../page/words.ts";

export const WORDS = {
  // studio/drafts/deletion.ts
  connectWalletFirst: "Connect your wallet first.",

  // studio/drafts/index.tsx
  wordCount: (words: number) => count(words, "word"),
  saleCount: (sales: number) => count(sales, "sale"),
  onlyBrowser: "Only in this browser",
  saved: "Saved",
  unsavedChanges: "Unsaved changes",
  publishing: "Publishing",
  published: "Published",
  drafts: "Drafts",
  newDraft: "New draft",
  seeSavedDrafts: "to see your saved drafts",
  findDraftTitle: "Find a draft by its title",
  findTitle: "Find by title",
  noDraftsYetStart:
    "No drafts yet. Start with a title, or wherever you like. Every word is kept as you type.",
  noDraftFound: (query: string) => `No draft has “${query}” in its title.`,
  noLoadedDraftFound: (query: string) => `No draft loaded so far has “${query}” in its title.`,
  loadingDrafts: "Loading drafts…",
  showMoreDrafts: "Show more drafts",
  showingWhatsStoredBrowser: (sentence: string | number) =>
    `${sentence} Showing what’s stored in this browser.`,
  tryAgain: "Try again",
  loading: "Loading…",
  untitled: "Untitled",
  wasDeleted: (name: string | number) => `“${name}” was deleted.`,
  wasntDeleted: (name: string | number, sentence: string | number) =>
    `“${name}” wasn’t deleted. ${sentence}`,
  undo: "Undo",
  isBack: (name: string) => `“${name}” is back. It’s only in this browser until you save it.`,
  deleteNamed: (name: string | number) => `Delete “${name}”`,
  delete: "Delete",
  deleteDraft: "Delete this draft?",
  deleteGood: "Delete it for good?",
  existsOnlyBrowser: "It exists only in this browser.",
  walletSignsOnce: "Your wallet signs once.",
  deleting: "Deleting…",
  keepIt: "Keep it",
  free: "Free",
  priceFree: "free",

  // studio/editor/conflict.tsx
  draftAlsoSavedElsewhere: "This draft was also saved elsewhere",
  anotherTabOrComputer: (savedAt: string | number) =>
    `Another tab or computer saved it on ${savedAt}, while you were editing here. Nothing is lost: choose which version to keep.`,
  keepMine: "Keep mine",
  becomesNewVersion: "It becomes the new version",
  useOtherVersion: "Use the other version",
  yoursStaysBrowser: "Yours stays in this browser",
  keepBoth: "Keep both",
  yoursSavedAsNew: "Yours is saved as a new draft",
  bothVersions: "Both versions",
  yours: "Yours",
  otherVersion: "The other version",
  browserNoSpaceSet:
    "This browser has no space to set your version aside, so nothing was changed. Keep yours as the new version, or free some space and choose again.",
  nothingChanged: (sentence: string | number) => `Nothing was changed. ${sentence}`,

  // studio/editor/index.tsx
  openDraft: "to open this draft",
  allDrafts: "All drafts",
  openingDraft: "Opening the draft…",
  draftIsntAccountMay:
    "This draft isn’t in your account. It may have been published or deleted, or belong to another account.",
  draftCouldntOpened: (sentence: string | number) => `The draft couldn’t be opened. ${sentence}`,

  // studio/editor/markdown-editor.tsx
  pictureAdded: "Picture added.",
  pictureCouldntAdded: "The picture couldn’t be added.",
  text: "Text",
  tabIndentsLeaveEditor:
    "Tab indents. To leave the editor with the keyboard, press Escape, then Tab.",
  both: "Both",
  view: "View",
  minRead: (words: string | number) => ` · ${words} min read`,
  sizeOf: (bytes: string | number, limit: string | number) => ` · ${bytes} of ${limit}`,

  // studio/editor/preview.tsx
  serviceCantReachedLast: "The service can’t be reached. This is the last preview.",
  serviceBusyLastPreview: "The service is busy. This is the last preview.",
  serviceCantPreviewText: "The service can’t preview this text. It may be too large.",
  previewRefused: (status: string | number) => `The preview failed with status ${status}.`,
  preview: "Preview",
  sessionEndedLastPreview: "Your session has ended. This is the last preview; your text is safe.",
  signSeePreview: "Sign in to see the preview.",
  signPreview: "Sign in for the preview",

  // studio/editor/publish-link.tsx
  noWalletConnectedConnect: "No wallet is connected. Connect the author’s wallet, then publish.",
  publishFromAuthor:
    "Your wallet is on a different account. Switch back to the author’s account, then publish.",
  chooseVersionFirst:
    "This draft was also saved elsewhere. Choose which version to keep, then publish.",
  draftAlreadyPublished: "This draft is already published.",
  draftDeletedElsewhereContinue:
    "This draft was deleted elsewhere. Continue in a new draft, then publish.",
  theresNothingPublishYet: "There’s nothing to publish yet. Write something first.",
  openPublishing: "Publish…",
  saveBeforePublishing: "This browser can’t keep a copy of your text. Save it first, then publish.",

  // studio/editor/save-line.tsx
  nothingWrittenYet: "Nothing written yet",
  notSavedYet: "Not saved yet",
  unsavedChangesKeptBrowser: "Unsaved changes, kept in this browser",
  saving: "Saving…",
  confirmWallet: "Confirm in your wallet…",
  waitingService: "Waiting for the service",
  notSaved: "Not saved",
  savedElsewhere: "Saved elsewhere",
  noLongerSavedOnline: "No longer saved online",
  saveNow: "Save now",
  saveWalletSignsOnce: "Save: your wallet signs once",
  save: "Save",
  walletSignsOnceNote: "your wallet signs once",
  tryNow: "Try now",
  saveAgain: "Save again",
  signIn: "Sign in",
  saveWallet: "Save with your wallet",
  saveAutomaticallyAnother24: "Save automatically for another 24 hours",

  // studio/editor/text/opening-line.ts
  freeUntilHere: "Free until here",
  dragOpeningLine: "Everybody can read what’s above this line. Drag the line to move it.",

  // studio/editor/save-offer.tsx
  saveHow: "How do you want to save?",
  saveAutomaticallyToday: "Save automatically today",
  saveOnce: "Just this once",

  // studio/editor/text/picture-dialog.ts
  aboutPicture: "About this picture",
  pictureShows: "What does it show?",
  pictureShowsHint: "Screen readers read this aloud to people who can’t see the picture.",
  pictureCaption: "Caption (optional)",
  done: "Done",
  later: "Later",

  // studio/editor/text/pictures.ts
  thisPicture: "This picture",
  theresNoRoomText: (name: string | number) =>
    `There’s no room for ${name} in this text. Remove another picture first.`,
  pictureTooLarge: "The picture is too large.",

  // studio/editor/text/text-editor.ts
  draftClosedBeforePicture:
    "The draft was closed before the picture was ready. Open it and add the picture again.",
  beginWrite: "Start writing here.",

  // studio/editor/text/toolbar.tsx
  bold: "Bold",
  italic: "Italic",
  heading: "Heading",
  link: "Link",
  list: "List",
  numberedList: "Numbered list",
  quotation: "Quotation",
  code: "Code",
  table: "Table",
  column: "Column",
  footnote: "Footnote",
  formatText: "Format the text",
  picture: "Picture",
  pictureChoosePasteOr: "Picture: choose, paste or drop one",
  choosePictures: "Choose pictures",

  // studio/editor/versions.tsx
  versions: "Versions",
  versionsHere: "Earlier versions of this draft, kept in this browser.",
  noVersionsYet: "No earlier versions yet. This browser saves versions as you write.",
  versionOf: (when: string, length: string) => `${when} · ${length}`,
  versionFrom: (when: string) => `Version from ${when}`,
  bringBack: "Bring this version back",
  now: "Now",

  // studio/editor/writing-panel.tsx
  savingAutomatically: "Saving automatically",
  walletConfirmsEachSave: "Your wallet confirms each save",
  until: "Until ",
  browserSavesDraftsAutomatically:
    " this browser saves your drafts automatically. It can only create and change drafts. Publishing and deleting always need your wallet.",
  oneSignatureBrowserCan:
    "With one signature, this browser can save your drafts for a day. It can never publish, delete or spend, and you can stop it at any time.",
  stopSavingAutomatically: "Stop saving automatically",
  this: "This",
  checkWallet: "Check your wallet…",
  saveAutomatically24Hours: "Save automatically for 24 hours",
  seeWhereElse: "to see where else automatic saving is on",
  alsoOtherBrowsers: "Also on in other browsers:",
  sinceUntil: (since: string, until: string) => `Since ${since}, until ${until}`,
  endOneSince: (createdAt: string | number) => `End the automatic saving that started ${createdAt}`,
  end: "End",

  // studio/editor/writing-room.tsx
  textDraftMarkdown: "Text of the draft, in Markdown",
  versionIsBack: "The earlier version is back. What you had is now among the versions.",
  draftSavedElsewhereYoure: "This draft was saved elsewhere. You’re now seeing that version.",
  youreNowEditingOther: "You’re now editing the other version. Yours is among your drafts.",
  bothKeptOtherVersion: "Both are kept: the other version in its draft, yours here as a new one.",
  belongsToAnotherAccount: (owner: string, shown: string) =>
    `This text belongs to ${owner}, but your wallet now shows ${shown}. The text is safe in this browser. Switch back to ${owner} in your wallet to save it.`,
  belongsToNoAccount: (owner: string) =>
    `This text belongs to ${owner}, but no wallet is connected. The text is safe in this browser. Connect ${owner} to save it.`,
  draftsOf: (now: string | number) => `Drafts of ${now}`,
  youreNotSignedCan:
    "You’re not signed in. You can still write and save. Sign in to be told when this draft is saved somewhere else.",
  draftPublishedCanNo: "This draft is published and can no longer be changed.",
  draftDeletedElsewhereText: "This draft was deleted elsewhere. Your text is still here.",
  readPost: "Read the post",
  continueNewDraft: "Continue in a new draft",
  draftAlsoOpenAnother:
    "This draft is also open in another tab. Your changes stay separate until you save; then the other tab is notified.",

  // studio/frame.tsx
  theEditor: "the editor",
  thePublisher: "the publishing form",
  yourIncome: "your income",
  income: "Income",
  studio: "Studio",
  seeIncome: "to see your income",
  yourPost: "your post",
  seeYourPost: "to see your post",
  continueYourPost: "to continue your post in a new draft",
  yourPosts: "your posts",
  yourProfile: "your profile",
  profile: "Profile",
  theImport: "the import",
  theCorrection: "the correction",
  correctPost: "to correct your post",
  import: "Import",
  opening: (name: string | number) => `Opening ${name}…`,
  couldntLoadedOnline: (replace: string | number) =>
    `${replace} couldn’t be loaded. Are you online?`,

  // studio/income/chart.tsx
  earningsDay: "Earnings by day",
  useArrowKeysMove: "Use the arrow keys to move through the days",
  showAsTable: "Show as a table",
  day: "Day",
  sales: "Sales",
  earned: "Earned",

  // studio/income/index.tsx
  all: "All",
  loadingIncome: "Loading your income…",
  haventPublishedAnythingYet:
    "You haven’t published anything yet. What readers pay for your posts will appear here.",
  goDrafts: "Go to your drafts",
  period: "Period",
  fromPeriod: (earned: string | number, length: string | number) =>
    `${earned} from ${length} in this period.`,
  chartStartsEarlierSales: (cut: string | number) =>
    `The chart starts on ${cut}. Earlier sales are in the list and the download.`,
  chartCovers: (sales: string, total: number, since: string) =>
    `The chart covers the newest ${sales} of ${total}, since ${since}.`,
  loadMore: "Load more",
  showMoreSales: "Show more sales",
  noSalesYetShare: "No sales yet. Share a post to get started.",
  newestSales: "Newest sales",
  giftTo: "Gift to",
  post: "Post",
  reader: "Reader",
  paid: "Paid",
  collectingAllSales: "Collecting all sales…",
  downloadAllSalesCsv: "Download all sales (CSV)",

  // studio/published/price-change.ts
  newPriceChainBut:
    "The new price is on the chain, but hasn’t appeared here yet. You don’t have to send it again.",

  // studio/published/price-form.tsx
  sendTransaction: "Send the transaction",
  confirmed: "Confirmed",
  shownReaders: "Shown to readers",
  confirmTransactionWalletWhich:
    "Confirm the transaction in your wallet, which shows the network fee.",
  networkProcessingCanClose:
    "The network is processing it. You can close this page; it continues without you.",
  newPriceChainWill: "The new price is on the chain and will show here in a moment.",
  changePrice: "Change price",
  priceChanged: "Price changed.",
  newPriceWill: (price: string) => `The new price will be ${price}.`,
  youreChangingPriceAnother:
    "You’re changing this price in another tab. Continue there; this page follows along.",
  continue: "Continue",
  keepCurrentPrice: "Keep the current price",

  // studio/publication/checklist.tsx
  beforePublish: "Before you publish",
  missing: "Missing",
  writeDescription: "A description, for lists and search",
  describePictures: (pictures: number) =>
    `A description of ${count(pictures, "picture")} in the text`,
  fixedLater: "Can’t be changed later",
  fixedOwnPicture: "Your picture",
  fixedMadePicture: "The picture made from your title",
  fixedDetails: "Title, description and hashtags",
  fixedText: "The text: it stays on record as you publish it now",
  changeablePrice: "You can change the price at any time.",

  // studio/publication/fields.tsx
  ofCharacters: (used: number, limit: number) => `${used} of ${limit} characters`,
  hashtags: "Hashtags",
  countOf: (length: string | number, count: string | number) => `${length} of ${count}`,
  remove: (tag: string | number) => `Remove #${tag}`,
  priceIn: (coin: string | number) => `Price in ${coin}`,
  priceHint: (most: string) => `Enter 0 to make it free. Maximum ${most}. You can change it later.`,

  // studio/publication/form.tsx
  freeWords: (free: string | number, words: string | number) =>
    `Everybody can read the first ${free} of ${words} words; the rest is for those who buy it.`,
  nothingFree:
    "None of the text can be read before it’s bought. To show its beginning, go back and choose “Free until here”.",
  pictureCouldntCreated: "The picture couldn’t be created.",
  publish: "Publish",
  title: "Title",
  description: "Description",
  howReadersWillSee: "How readers will see it",
  backText: "Back to the text",
  whatFill: "what you fill in",
  yourPicture: "your picture",
  browserCantStoreReload: (join: string | number) =>
    `This browser can’t store ${join}, so a reload would lose it. Free some space, or leave private browsing.`,
  whatHappensNext: "What happens next",
  walletSignsOnceFree:
    "Your wallet signs once, free of charge, then sends one transaction to the marketplace.",
  fullPriceYours: "You receive the full price. ",
  feeInWallet: "Your wallet shows the network fee before you confirm.",
  feeAbout: (fee: string) => `Publishing costs a network fee of about ${fee}.`,

  // studio/publication/index.tsx
  browserCantStorePicture:
    "This browser can’t store the picture until it’s uploaded, so nothing was started. Free some space, or leave private browsing, then publish again.",
  publishText: "to publish this text",
  openingText: "Opening the text…",
  draftDoesntExistMay: "This draft doesn’t exist. It may already be published or deleted.",

  // studio/publication/limits.ts
  characterCount: (characters: number) => count(characters, "character"),
  givePostTitle: "Give the post a title.",
  containsHalfCharacterType: (name: string | number) =>
    `The ${name} contains a broken character. Type it again.`,
  shortenTheBy: (name: string, over: string) => `Shorten the ${name} by ${over}.`,
  useDecimalPointNo: "Use a decimal point and no commas, such as 0.05.",
  priceCanMost: (priceWei: string | number) => `The price can be at most ${priceWei}.`,

  // studio/publication/publication-ports.ts
  pictureNoLongerBrowser: "The picture is no longer in this browser. Go back and choose it again.",
  textChangedAnotherTab:
    "This text was changed in another tab or on another device. Open it, choose which version to keep, then publish.",
  draftNoLongerExists: "This draft no longer exists.",
  textIsntSavedYet: "The text isn’t saved yet.",

  // studio/publication/publication-steps.tsx
  saveLatestText: "Save the latest text",
  signUploadPicture: "Sign and upload the picture",
  listedSite: "Listed on this site",
  latestTextGoesService: "Your latest text is being saved.",
  confirmSignatureWalletFree: "Confirm the signature in your wallet, free of charge.",
  postChainWillAppear: "Your post is on the chain and will appear here in a moment.",
  yourePublishingAnotherTab:
    "You’re publishing this in another tab. Continue there; this page follows along.",
  continuePublishing: "Continue publishing",
  backForm: "Back to the form",
  transaction: "Transaction ",
  readersPay: (price: string | number) => `Readers pay ${price}`,
  linkCopied: "Link copied.",
  viewPost: "View post",
  linkCopiedLabel: "Link copied",
  shareLink: "Share link",
  yourIncomeLink: "Your income",
  showsWhoBuysLets: " shows who buys it and lets you change the price.",

  // studio/publication/publication.ts
  textChangedOrDeleted: "The text was changed or deleted elsewhere. Publish the latest version?",
  postChainButHasnt:
    "Your post is on the chain, but hasn’t appeared here yet. You don’t have to send it again.",
  someoneElseAlreadyPublished:
    "Someone else has already published this version of your text. Save it as a new version of your own, and publish that.",

  // studio/publication/tags.ts
  hashtagMostCharacters: (length: string | number) =>
    `A hashtag can have at most ${length} characters.`,
  typeWordAfter: "Type a word after the #.",
  noHashtagUseLetters: (spelled: string | number) =>
    `“${spelled}” isn’t a hashtag. Use letters, digits, _ and -.`,
  postMostHashtags: (count: string | number) => `A post can have at most ${count} hashtags.`,

  // studio/publication/thumbnail/thumbnail-field.tsx
  pictureCannotUsed: "This picture can’t be used.",
  madeFromTitle: "Made from the title",
  myOwnPicture: "My own picture",
  chooseAnother: "Choose another…",
  choosePicture: "Choose a picture…",
  pictureFile: "Picture file",
  cardShowsPictureMade:
    "The card shows a picture made from your title. You can also drop or paste your own here.",
  partPictureShown: "Visible part of the picture",
  zoom: "Zoom",
  dragPictureOrUse: "Drag the picture, or use the arrow keys; + and − zoom, 0 shows all of it.",

  // studio/publication/thumbnail/thumbnails.ts
  pictureLargerThan60: "This picture is larger than 60 MB. Choose a smaller one.",
  browserCantShowPicture: "Your browser can’t show this picture. Try a PNG or JPEG.",
  browserCantDrawPictures: "This browser can’t draw pictures.",
  pictureCantMadeSmall: "This picture can’t be made small enough. Choose another one.",

  // studio/saves/draft-loader.ts
  unsavedTextFromAnother: "Unsaved text from another tab",
  signFirst: "Sign in first.",
  thereNoSuchDraft: "There is no such draft.",

  // studio/saves/draft-service.ts
  walletShowsAnotherAccount: "The wallet shows another account.",
  noWalletConnected: "No wallet is connected.",
  textBelongsAnotherAccount: "This text doesn’t belong to the account in your wallet.",

  // studio/saves/open-draft.ts
  signAgainSeeWhats: "Sign in again to see what’s saved.",
  browserNoSpaceCopy:
    "This browser has no space for a copy of your text. Save it now, or free some space.",
  browserCantKeepCopy: "This browser can’t keep a copy of your text. Save often.",
  signatureCameTooLate:
    "The signature came too late. Save again, and sign in your wallet within a minute.",
  serviceDidntAcceptSave: "The service didn’t accept this save. Save again.",
  yourVersionOf: (value: string | number) => `Your version of “${value}”`,

  // studio/saves/save-state.ts
  textSafeBrowser: "Your text is safe in this browser.",
  serviceCantReachedWill: (kept: string | number) =>
    `The service can’t be reached. ${kept} It will be saved when you’re back online.`,
  draftsHaveUsedAll:
    "Your drafts have used all your space. Delete or publish some, then save again.",
  textTooLargeLimit: (contentLimit: string | number) =>
    `The text is too large: the limit is ${contentLimit}. Remove or shrink a picture.`,
  serviceBusyWillSaved: (kept: string | number) =>
    `The service is busy. ${kept} It will be saved in a moment.`,
  automaticSavingEndedSave: (kept: string | number) =>
    `Automatic saving has ended. ${kept} Save with your wallet, or save automatically for another 24 hours.`,

  // studio/sign-in.tsx
  lookingWallet: "Looking for your wallet…",
  startWriting: "Start writing",
  walletAccountSignsWords:
    "Your wallet is your account. It signs your words as yours and receives what readers pay. There’s nothing else to set up.",
  connectWallet: "Connect your wallet",
  signWalletSignsMessage: (reason: string | number) =>
    `Sign in ${reason}. Your wallet signs a message, free of charge.`,

  // studio/transactions/failure.ts
  sendingLost:
    "Your wallet was asked to send the transaction, but its reply was lost. The chain hasn’t seen it. If your wallet still shows the request, confirm it there and check again; otherwise ask your wallet again.",
  sendingUnsettled:
    "Your wallet was asked to send the transaction, but its reply was lost. Your account has transactions waiting to be confirmed, and this may be one of them. Check again later. Ask your wallet again only if it doesn’t show this transaction.",
  sendingReplaced:
    "The transaction was cancelled or replaced in your wallet. If your wallet no longer shows it, ask your wallet again.",
  sendingUnknown:
    "The network doesn’t know the transaction. If your wallet still shows it as pending, check again later; if it’s gone, send it again.",
  sendingPending:
    "The transaction is still waiting to be confirmed. Your wallet can speed it up; you don’t have to send it again.",

  // studio/transactions/step-runner.ts
  transactionFailedChainPerhaps:
    "The transaction failed on the chain, perhaps because it ran out of gas.",

  // studio/transactions/steps.tsx
  notYet: "not yet",
  checkAgain: "Check again",
  askWalletAgain: "Ask your wallet again",
  saveAsNewVersion: "Save as a new version",
  switchNetwork: "Switch network",
  openText: "Open the text",

  // studio/transactions/wallet-ports.ts
  continueFromAuthor:
    "Your wallet is on a different account. Switch back to the author’s account to continue.",

  unreadablePicture: (name: string) => `${name} can’t be read. Use a PNG, JPEG or WebP.`,
  chooseAnotherPicture: "Choose another picture.",
  toToday: (day: string) => `${day} to today, in UTC`,
} as const;
