/** A typed client of Imprint, for browsers and Node. */

export { documentCid, verifyDocument } from "./cids.js";
export { formatCoin, parseCoin } from "./coin.js";
export { Imprint } from "./imprint.js";
export { BrowserKeyStore, type KeyStore, MemoryKeyStore, type StoredKey } from "./key-store.js";
export { exportLibrary, type LibraryFile, type LibraryOptions } from "./library.js";
export { List, type Page } from "./list.js";
export {
  BUY_MANY,
  balanceOf,
  buyManyCall,
  buyPostCall,
  changePriceCall,
  createdPostId,
  createPostCall,
  ERRORS,
  findReceipt,
  type Log,
  type NewPost,
  POST_LIMITS,
  type Receipt,
  SELECTORS,
  verifyProof,
  waitForReceipt,
} from "./marketplace.js";
export type { ReadOptions } from "./payments/purchases.js";
export {
  CODES,
  InvalidOffer,
  Refusal,
  Reverted,
  TooExpensive,
  Unconfirmed,
  Unreachable,
  WalletNeeded,
} from "./problems.js";
export {
  type ClientOptions,
  ImprintReader,
  type LoginOptions,
  type WaitOptions,
} from "./reader.js";
export type * from "./records.js";
export type { Fetch } from "./transport.js";
export {
  buildRevision,
  buildWrite,
  digestOf,
  hashBytes,
  hashText,
  type RevisionValues,
  type Signing,
  type TypedData,
  type TypedDataMember,
  type WriteValues,
} from "./typed-data.js";
export {
  type Account,
  type Call,
  httpProvider,
  isAddress,
  type Provider,
  ProviderError,
  type Signer,
  type Wallet,
  walletOfAccount,
  walletOfProvider,
} from "./wallet.js";
export { ImprintWriter, type ProfileChange, type SaveOptions, type SignedWrite } from "./writer.js";
export {
  resumeWritingSession,
  WritingSession,
  type WritingSessionOptions,
} from "./writing-session.js";
