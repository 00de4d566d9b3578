/** The sentences that the scripts of all pages share. A translation is another such object. */

const NUMBER = new Intl.NumberFormat("en");

/** A number with its noun: `1 post`, `1,200 posts`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${NUMBER.format(number)} ${number === 1 ? one : many}`;
}

export const WORDS = {
  // page/format.ts
  under: (amount: string) => `under ${amount}`,

  // chain/batch.ts
  walletDoesNotSay: "Your wallet doesn’t say whether the payment went through.",

  // chain/marketplace.ts
  marketplaceDoesNotKnow: "The marketplace doesn’t know this post.",

  // chain/node.ts
  theService: "The service",
  theNetwork: "The network",

  // chain/refusals.ts
  textIsntSavedProperly: "The text isn’t saved properly. Save it again, then publish.",
  versionTextAlreadyPublished: "This version of the text is already published.",
  postNeedsTitleGo: "The post needs a title. Go back and add one.",
  titleTooLong100: "The title is too long: 100 bytes at most.",
  postNoPictureGo: "The post has no picture. Go back and choose one.",
  descriptionTooLong500: "The description is too long: 500 bytes at most.",
  priceTooHigh: (most: string) => `The price is too high: the maximum is ${most}.`,
  postTooManyHashtags: "The post has too many hashtags: 10 at most.",
  marketplaceDoesntKnowPost: "The marketplace doesn’t know this post.",
  onlyPostsAuthorCan: "Only the post’s author can do this. Switch to the author’s account.",
  wrotePostDontNeed: "You wrote this post, so you don’t need to buy it.",
  accountAlreadyOwnsPost: "This account already owns the post.",
  authorRaisedPriceReload: "The author has raised the price. Reload to see the new one.",
  authorsWalletDoesntAccept:
    "The author’s wallet doesn’t accept payments, so the post can’t be sold.",
  marketplaceRefusedTransactionWithout:
    "The marketplace refused this transaction without saying why.",

  // page/clipboard.ts
  copying: "Copying",
  browserDoesntLetPage:
    "This browser doesn’t let the page copy. Select the text and copy it yourself.",

  // page/database.ts
  browserNoSpaceLeft: "This browser has no space left for this site.",
  browsersStorageFailed: "This browser’s storage failed.",

  // page/notices.ts
  close: "Close",

  // wallet/chooser.ts
  openLetPageSee: (name: string | number) => `Open ${name} and let this page see your account.`,
  signIn: "Sign in",
  yourWallet: "Your wallet",
  browserNoWalletWallet:
    "This browser has no wallet. A wallet holds your account: you use it to sign in, buy and publish, without a password. ",
  findWallet: "Find a wallet",
  installThenReload: ", install it, then reload this page.",
  openInApp:
    "This browser has no wallet. If you have a wallet app, open this page in the app’s own browser: there you can sign in, buy and publish.",
  openIn: (app: string) => `Open in ${app}`,
  noAppYet: "No wallet app yet? ",
  appsNeedEncryption:
    "This browser has no wallet. Wallet apps open only pages with an address that begins with https://, and this one doesn’t.",
  scanWithPhone:
    "Is your wallet on your phone? Scan this with its camera. The page opens there, and “Sign in” lists wallet apps to open it in.",
  codeOfPage: "QR code with the address of this page",
  developmentAccounts: "Development accounts",
  loading: "Loading…",
  theyHoldPlayMoney: "These accounts hold play money and sign automatically.",
  tryAgain: "Try again",

  // wallet/connection.ts
  walletSharesNoAccount: "The wallet shares no account.",

  // wallet/discovery.ts
  aWallet: "A wallet",
  browserWallet: "Browser wallet",

  // wallet/failures.ts
  nothingChosen: "Nothing was chosen.",
  walletChain: (chainId: string | number) => `The wallet is on chain ${chainId}.`,
  accountCannotPayPrice: "This account can’t pay the price.",
  chainsNodeDoesNot: "The network’s node isn’t responding.",
  declinedWalletNothingSent: "You declined in your wallet. Nothing was sent.",
  walletDoesntLetPage:
    "Your wallet doesn’t let this page use that account. Unlock it and allow access.",
  walletCantDoTry: "Your wallet can’t do this. Try another one.",
  walletLostConnectionOpen: "Your wallet lost its connection. Open it, then try again.",
  walletLostConnectionNetwork:
    "Your wallet lost its connection to this network. Open it, then try again.",
  walletDoesntKnowNetwork: (name: string, id: number) =>
    `Your wallet doesn’t know ${name} (chain ID ${id}). Add it, then try again.`,
  networkHasNoNode: (name: string, id: number, whom: string) =>
    `Your wallet doesn’t know ${name} (chain ID ${id}), and this site publishes no node address to add it with. Add the network in your wallet yourself, or ask ${whom}, then try again.`,
  whoRunsThisSite: "whoever runs this site",
  walletAlreadyShowingRequest:
    "Your wallet is already showing a request from this page. Open it and confirm or decline.",
  networkBusyTryAgain: "The network is busy. Try again in a moment.",
  sessionEndedSignAgain: "Your session has ended. Sign in again to continue.",
  serviceBusyTryAgain: "The service is busy. Try again in a moment.",
  signContinue: "Sign in to continue.",
  clocksDeviceServiceDiffer:
    "The clocks of this device and the service differ. We’ve corrected for that: please sign once more.",
  alreadySentSignOnce: "This was already sent. Sign once more to send it again.",
  belongsAnotherAccountSign: "This belongs to another account. Sign in with that one.",
  accountDoesntOwnPost: "This account doesn’t own the post.",
  serviceCantReachChain: "The service can’t reach the chain right now. Try again in a moment.",
  serviceCantReachStorage: "The service can’t reach its storage right now. Try again in a moment.",
  serviceCantReachDatabase:
    "The service can’t reach its database right now. Try again in a moment.",
  listPostsStillBeing: "The list of posts is still being built. Try again in a moment.",
  somethingWentWrongService:
    "Something went wrong in the service. Try again; if it keeps happening, tell the site’s operator.",
  youreOfflineNothingLost: "You’re offline. Nothing is lost: try again when you’re connected.",
  serviceIsntRespondingNothing:
    "The service isn’t responding. Nothing is lost: try again in a moment.",
  walletLockedOrShares: "Your wallet is locked or shares no account. Unlock it, then try again.",
  accountWalletChangedWe:
    "The account in your wallet changed, so we stopped. Start again with the new one.",
  needPlusSmallNetwork: (price: string | number, funds: string | number) =>
    `You need ${price} plus a small network fee; this account has ${funds}.`,
  developmentChainIsntResponding:
    "The development chain isn’t responding. Is imprint dev still running?",
  networkIsntRespondingTry: "The network isn’t responding. Try again in a moment.",
  walletNetworkChainId: (chainId: string | number, id: string | number) =>
    `Your wallet is on the network with chain ID ${chainId}. Switch to the one with chain ID ${id}, then try again.`,
  inAMoment: "in a moment",
  lotOnceTryAgain: (wait: string | number) => `That was a lot at once. Try again ${wait}.`,
  signatureDoesntMatchAccount:
    "The signature doesn’t match the account. This service doesn’t accept contract wallets: use an account with its own key.",
  serviceRefused: "The service refused this.",
  walletAnotherNetworkSwitch: (id: string | number) =>
    `Your wallet is on another network. Switch to the one with chain ID ${id}, then try again.`,
  accountCantCoverAmount:
    "This account can’t cover the amount plus the network fee. Add funds or switch accounts.",
  walletBusyAnotherTransaction:
    "Your wallet is busy with another transaction. Wait until it’s done, then try again.",
  marketplaceRefusedTransactionReload:
    "The marketplace refused this transaction. Reload to see what changed.",
  partPageCouldntLoad: "Part of this page couldn’t load. Reload the page.",
  walletLockedUnlockThen: "Your wallet is locked. Unlock it, then try again.",
  walletSays: (slice: string | number) => `Your wallet says: ${slice}`,
  didntWorkTryAgain: "That didn’t work. Try again.",

  // wallet/session.ts
  signReadWhatOwn: "Sign in to read what you own. This is free and sends nothing to the chain.",

  copyYourself: "You can still select the text and copy it yourself.",
  needsSecureConnection: (what: string) =>
    `${what} needs a secure connection. Open this site with an address that begins with https://.`,
  inSeconds: (seconds: number) => `in ${seconds} seconds`,
  notConnected: (wallet: string) =>
    `You declined, so ${wallet} isn’t connected. You can try again.`,
  keepTrying: (silent: string) => `${silent} isn’t responding. Nothing is lost: we’ll keep trying.`,
} as const;
