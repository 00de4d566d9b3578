/** The sentences of the scripts for readers. A translation is another such object. */

import { count } from "../page/words.ts";

export const WORDS = {
  account: (name: string) => `Account ${name} `,
  written: "Your post",
  owned: "In your library",

  // reader/own-post.ts
  free: "Free",
  correct: "Correct",
  changePrice: "Change price",
  continueInNewDraft: "Continue in a new draft",
  share: "Share",
  copyLink: "Copy link",
  linkCopied: "Link copied.",

  // reader/account.ts
  tryAgain: "Try again",
  signIn: "Sign in",
  signedIn: "Signed in",
  walletLockedOrMissing: "Your wallet is locked or missing. You can read, but not buy or publish.",
  signReadWhatOwn: "Sign in to read what you own",
  copyAddress: "Copy address",
  switchAccount: "Switch account",
  signOut: "Sign out",
  youreSignedOutDevice: "You’re signed out on this device.",
  signOutEveryDevice: "Sign out on every device",
  youreSignedOutEvery: "You’re signed out on every device.",
  addressCopied: "Address copied.",

  // reader/gate/offer.ts
  keepReading: (price: string | number) => `Keep reading for ${price}`,
  buyRead: "Buy and read",
  alreadyBought: "Already bought it? Sign in",

  // reader/gate/reducer.ts
  declinedSignIn:
    "You declined to sign in. The post is still yours: sign in whenever you want to read it.",
  authorChangedPriceFrom: (price: string | number, price2: string | number) =>
    `The author changed the price from ${price} to ${price2}.`,

  // reader/gate/view.ts
  youWroteThis: "You wrote this",
  youOwnThis: "You own this",
  signReadSigningFree: "Sign in to read it. Signing is free and only proves the account is yours.",
  signRead: "Sign in and read",
  reload: "Reload",
  purchaseNotCompleted: "Purchase not completed",
  youreBuyingPostAnother: "You’re buying this post in another tab",
  confirmOrDeclineThere: "Confirm or decline it there. This page continues on its own.",
  waitingNetwork: "Waiting for the network",
  wereNotSurePayment: "We’re not sure the payment went through",
  transaction: "Transaction ",
  checkAgain: "Check again",
  buyAgain: "Buy again",
  purchaseFailed: "Purchase failed",
  purchaseFailedChainKeep:
    "The purchase failed on the chain. You keep your money, apart from the network fee.",
  signedDevelopmentChain: "Signed by the development chain",
  confirmPurchase: (name: string | number) => `Confirm the purchase in ${name}`,
  sentChain: "Sent to the chain",
  confirmedPostYours: "Confirmed: the post is yours",
  openingPost: "Opening the post",
  signFreeOnlyProves: (name: string | number) =>
    `Sign in with ${name}. It’s free and only proves the account is yours`,
  postYours: "The post is yours",
  buyingFor: (price: string | number) => `Buying for ${price}`,
  payTwice: "otherwise you may pay twice.",
  paymentLost: (twice: string | number) =>
    `Your wallet was asked to pay, but its reply was lost. The chain hasn’t seen the payment, though it may still arrive. If your wallet shows the request, confirm or decline it there and check again. Buy again only if your wallet shows neither a request nor a payment: ${twice}`,
  paymentUnsettled: (twice: string | number) =>
    `Your wallet was asked to pay, but its reply was lost. This account has transactions waiting to be confirmed, and one of them may be the payment. Check again later. Buy again only if your wallet shows no payment: ${twice}`,
  paymentReplaced: (twice: string | number) =>
    `Your wallet replaced the payment with another transaction. Wallets do this to speed up or cancel a payment. The post isn’t yours yet. Check the activity in your wallet, and buy again only if the payment was cancelled there: ${twice}`,
  paymentUnknown: (twice: string | number) =>
    `The network doesn’t know the payment your wallet sent; it may still go through. Check again later. Buy again only if your wallet shows that the payment failed or was cancelled: ${twice}`,
  paymentPending:
    "The payment was sent and is waiting to be confirmed. Your wallet can speed it up; you don’t have to pay again.",

  // reader/cart.ts
  givePost: "Give this post",
  cart: "Cart",
  addToCart: "Add to cart",
  inCart: "In your cart",
  cartFull: (most: number) => `Your cart is full: ${count(most, "post")} at most.`,
  inCartNow: (posts: number) => `${count(posts, "post")} in your cart.`,
  cartHolds: (posts: number, total: string) => `${count(posts, "post")} in your cart · ${total}`,
  buyAll: "Buy all",
  emptyCart: "Empty the cart",
  orderUnfinished: "A payment you began here isn’t finished.",
  continueOrder: "Continue",

  // reader/order/reducer.ts
  cartEmpty: "There’s nothing left to buy.",
  nameReceiver: "Enter the address of the person who gets it.",
  receiverInvalid:
    "This isn’t a valid address. Check it for typing errors, or copy it again: it’s 0x followed by 40 letters and digits.",
  youHaveSome: "You can already read some of these posts, so we took them out. Check what’s left.",
  receiverHasSome: "This address can already read some of these posts, so we took them out.",
  pricesChanged: "The prices have changed. Check the new total.",
  noOrderUnfinished:
    "This account has no unfinished payment. If you began it with another account, switch your wallet to that one.",
  orderFailedChain:
    "The payment failed on the chain, so nothing was bought. You keep your money, apart from the network fee.",

  // reader/order/view.ts
  yourCart: "Your cart",
  remove: "Remove",
  removePost: (title: string) => `Remove: ${title}`,
  close: "Close",
  total: (total: string) => `Total ${total}`,
  giveTo: "Give it to",
  giveToOptional: "Give them to somebody else (optional)",
  giveHint: "An Ethereum address. Its owner can read the post right away, and keeps it.",
  giveHintOptional: "An Ethereum address. Leave this empty to buy for yourself.",
  giveFor: (total: string) => `Give it for ${total}`,
  buyFor: (total: string) => `Buy for ${total}`,
  orderingAnotherTab: "You’re paying for an order in another tab. Confirm or decline it there.",
  postsYours: (posts: number) =>
    posts === 1 ? "The post is yours" : `All ${posts} posts are yours`,
  postsGiven: (posts: number, receiver: string) =>
    `${posts === 1 ? "The post is" : `All ${posts} posts are`} in the library of ${receiver} now.`,
  confirmedGiven: (receiver: string) => `Confirmed: given to ${receiver}`,
  openLibrary: "Open your library",

  // reader/library.ts
  everythingYouveBoughtOr:
    "Everything you’ve bought or been given. Sign in to see it: your wallet signs once, free of charge.",
  searchLibrary: "Search your library",
  search: "Search",
  showMore: "Show more",
  givenToYouOn: (boughtAt: string | number) => `Given to you on ${boughtAt}`,
  boughtOnFor: (boughtAt: string | number, paid: string | number) =>
    `Bought on ${boughtAt} for ${paid}`,
  post: (id: string | number) => `Post ${id}`,
  nothingLibraryMatches: "Nothing in your library matches.",
  nothingHereYet: "Nothing here yet",
  postsBuyOrReceive: "Posts you buy or receive appear here and stay yours.",
  findSomethingRead: "Find something to read",
  copyLinkNowWont:
    "Copy this link now; it won’t be shown again. Anyone who has it can read your library.",
  atom: "Atom",
  createPrivateFeed: "Create a private feed",
  downloadLibrary: "Download my library",
  packing: (done: number, all: number) => `${done} of ${all} posts`,

  // reader/main.ts
  partPageCouldntLoad: "Part of this page couldn’t load because the service isn’t responding.",

  // reader/proof.ts
  bytes: (bytes: number) => count(bytes, "byte"),
  verifyBrowser: "Verify in this browser",
  marketplace: "Marketplace",
  chain: "Chain",
  documentIsntStoredSite: "The document isn’t stored on this site, so it can’t be verified here.",
  verifyingHere: "Verifying here",
  documentPaidPostIsnt:
    "The document of a paid post isn’t public. Its owners can verify it here after signing in.",
  fetchingDocument: "Fetching the document…",
  verifiedBrowserDownloadedComputed: (length: string | number) =>
    `Verified: this browser downloaded ${length} and computed their CID with SHA-256. It matches the one above.`,
  downloadProof: "Download the proof",
  blockNotFinal:
    "The block is too new to be final. Come back later for a proof that anyone can check.",
  chainNotChecked:
    "The service says that this CID is on the chain, but this browser hasn’t checked. Connect a wallet to check, or download the proof.",
  chainConfirms: (block: number) =>
    `Your wallet’s node confirms the proof: block ${block} records that this author published this document.`,
  chainContradicts: "The proof doesn’t match the chain. Don’t trust this text.",
  serviceSentBytesDont:
    "This service sent bytes that don’t match the CID above. Don’t trust this text.",

  correctionSigned: (number: number) =>
    `Correction ${number} is verified too: its author signed exactly this text for the document above.`,
  correctionByContract: (number: number) =>
    `Correction ${number} matches this text exactly. A contract wallet signed it, and only the chain can check that signature.`,
  correctionForged: (number: number) =>
    `The author didn’t sign correction ${number}. Don’t trust this text.`,

  // reader/versions.ts
  fetchingVersion: "Fetching this version…",

  // reader/samples.ts
  fillSamplePosts: "Fill with sample posts",
  dozenPostsSeveralPeople: "A dozen posts by several people, free and paid.",
  gettingTexts: "Getting the texts…",
  allSamplePostsAlready: "All sample posts are already here.",
  sales: (sales: number) => count(sales, "sale"),
  owners: (readers: number) => count(readers, "reader"),
  samplePosts: (posts: number) => count(posts, "sample post"),
  purchases: (purchases: number) => count(purchases, "purchase"),
  posts: (posts: number) => count(posts, "post"),
  seeThem: "See them",

  // reader/theme-switch.ts
  lightMode: "Light mode",
  darkMode: "Dark mode",

  nothingSent: "Nothing was sent.",
  someFailed: (published: string, failed: number) =>
    `${published} published, ${failed} failed. Fill again to publish the rest.`,
  filled: (published: string, purchases: string) =>
    `${published} published, and ${purchases} made.`,
  arrivedBy: (arrival: string) => `${arrival} · by `,
} as const;
