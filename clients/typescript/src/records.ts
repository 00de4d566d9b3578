/** The types of what the service takes and gives, with the names of the contract. */

export type Address = `0x${string}`;
export type Hex = `0x${string}`;

/** The ways to sign a write; `imprint-2` is bound to the service and to what is written. */
export type Form = "imprint-1" | "inkdao-1" | "imprint-2";
export type Action = "create" | "update" | "publish" | "delete";
export type WritingAction = "create" | "update";

/** `/.well-known/imprint.json`: what differs between services. */
export interface ServiceFacts {
  name: string;
  version: string;
  /** The public address, without a slash at its end. Signatures are bound to it. */
  service: string;
  signing: { name: string; version: string; chainId: number };
  signing_forms: string[];
  features: string[];
  login: { domains: string[]; freshness_seconds: number };
  chain: { id: number; marketplace: Address; rpc_url?: string };
  limits: {
    content_bytes: number;
    quota_bytes: number;
    quota_drafts: number;
    thumbnail_bytes: number;
    thumbnail_pixels: number;
    thumbnail_side: number;
    hashtags: number;
    hashtag_length: number;
    nonce_length: number;
    login_message_bytes: number;
  };
  page_sizes: Record<string, number>;
  /** The time of the service in Unix seconds. */
  now: number;
}

export interface MarketplaceFacts {
  chainId: number;
  address: Address;
  startBlock: number;
  abi: Record<string, unknown>[];
}

/** A session for reading; `token` is sent as bearer. */
export interface Session {
  address: Address;
  token: string;
  expiresAt: string;
  expiresIn: string;
}

/** A draft, as a write returns it. */
export interface Draft {
  id: string;
  name: string;
  cid: string;
  size: number;
  created_at: string;
  group_id: string;
  keyvalues: { owner: Address; status: "pending" | "onchain"; publishedAt?: string } & {
    [name: string]: string;
  };
}

/** A draft or post of this service, as reads and lists return it. */
export interface HostedFile extends Draft {
  hashtags: string[];
  thumbnail_cid: string | null;
  post_id: string | null;
  published_at: string | null;
  tx_hash: Hex | null;
}

/** A text with its record. */
export interface Content {
  content: string;
  file: HostedFile;
}

export interface PublishedDraft {
  thumbnailCid: string;
}

export interface DeletedDraft {
  id: string;
  status: "deleted";
}

/** What an author gives to publish a draft; `thumbnail` is PNG, JPEG or WebP. */
export interface Publication {
  thumbnail: Blob;
  thumbnailName?: string;
  hashtags: string[];
}

/** The record of a writing session; its key is in the browser that opened it. */
export interface WritingSessionRecord {
  id: string;
  wallet: Address;
  actions: WritingAction[];
  notBefore: string;
  expires: string;
  createdAt: string;
}

export interface Block {
  number: number;
  hash: Hex;
}

export interface SalesTotal {
  count: number;
  /** In wei. */
  volume: string;
}

/** A post of the chain, as the index has it. Prices are in wei. */
export interface Post {
  id: string;
  author: Address;
  cid: string;
  thumbnailCid: string;
  title: string;
  description: string;
  price: string;
  firstPrice: string;
  free: boolean;
  hashtags: string[];
  /** Whether its text is at this service. */
  hosted: boolean;
  createdAt: string;
  block: Block;
  transaction: Hex;
  sales: SalesTotal;
  holders: number;
  links: { self: string; content: string; page: string };
  /** Where the text of a search was found, with `<mark>` around it. */
  snippet?: string;
}

export interface HeldPost extends Post {
  held: { balance: string; boughtAt: string; paid: string | null };
}

export interface Author {
  address: Address;
  posts: number;
  sales: SalesTotal;
  readers: number;
  firstPostAt: string | null;
  lastPostAt: string | null;
}

export interface Sale {
  postId: string;
  buyer: Address;
  price: string;
  at: string;
  block: Block;
  transaction: Hex;
}

export interface Stats {
  posts: number;
  authors: number;
  readers: number;
  sales: number;
  volume: string;
  days: { day: string; posts: number; sales: number; volume: string }[];
}

export interface GlobalMetrics {
  totalUsers: number;
  totalAssets: number;
  totalAssetWorth: string;
  totalVolume: string;
}

export interface UserMetrics {
  creator: {
    totalAssets: number;
    totalEarnings: string;
    totalSubscribers: number;
    totalAssetWorth: string;
  };
  holder: { totalPurchases: number; totalSpent: string };
}

/** Days as `D/M/YYYY`. */
export interface HeatMap {
  creator: string[];
  holder: string[];
}

/** The addresses of a private feed, which contain its secret and are shown once. */
export interface FeedAccess {
  id: string;
  atom: string;
  json: string;
}

export interface PrivateFeed {
  id: string;
  createdAt: string;
  fetchedAt: string | null;
}

/** A feed of the format JSON Feed 1.1. */
export interface JsonFeed {
  version: string;
  title: string;
  home_page_url: string;
  feed_url: string;
  next_url?: string;
  items: FeedItem[];
  hubs?: { type: string; url: string }[];
}

export interface FeedItem {
  id: string;
  url: string;
  title: string;
  summary: string;
  content_text: string;
  date_published: string;
  date_modified: string;
  authors: { name: string; url: string }[];
  tags: string[];
  _imprint: {
    id: string;
    cid: string;
    price: string;
    priceText: string;
    free: boolean;
    hosted: boolean;
    hasText: boolean;
  };
}

export interface Readiness {
  status: "ready" | "degraded" | "not ready";
  checks: Record<string, string>;
  details: string[];
}

/** The bytes of `/ipfs/{cid}` and what they are. */
export interface FetchedDocument {
  bytes: Uint8Array<ArrayBuffer>;
  mediaType: string;
}

export interface PostQuery {
  /** All of these hashtags. */
  tag?: string | string[];
  author?: string;
  free?: boolean;
  minPrice?: string | bigint;
  maxPrice?: string | bigint;
  /** Words to search for in titles, descriptions and free texts. */
  q?: string;
  sort?: "newest" | "oldest" | "sales" | "price";
  /** Posts of a page, 1 to 50. */
  limit?: number;
}
