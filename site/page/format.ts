/** Formats of amounts, dates and addresses on pages. */

// Not through the client's index: every page loads this module, and only some need the rest.
import { formatCoin } from "imprint-press/coin";
import { facts } from "./facts.ts";
import { WORDS } from "./words.ts";

/** The symbol of the chain's coin. */
export const COIN = facts.chain.coin.symbol;

/** Decimals of amounts that need not be exact, such as balances. */
const BALANCE_DIGITS = 4;

const DATE = new Intl.DateTimeFormat("en-GB", { dateStyle: "long" });
const MOMENT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const NUMBER = new Intl.NumberFormat("en");

/** An amount in wei, exactly: `0.01 XDAI`. */
export const coin = (wei: string | bigint): string => `${formatCoin(wei)} ${COIN}`;

/** A balance in wei, truncated to four decimals, so that it never shows more than there is. */
export function balance(wei: bigint): string {
  const [whole = "0", fraction = ""] = formatCoin(wei).split(".");
  const kept = fraction.slice(0, BALANCE_DIGITS).replace(/0+$/, "");
  if (wei > 0n && whole === "0" && !kept)
    return WORDS.under(`0.${"1".padStart(BALANCE_DIGITS, "0")} ${COIN}`);
  return `${NUMBER.format(BigInt(whole))}${kept && `.${kept}`} ${COIN}`;
}

/** A date: `16 November 2026`. */
export const day = (time: string | Date): string => DATE.format(new Date(time));

/** A date and a time: `16 Nov 2026, 21:04`. */
export const moment = (time: string | number): string => MOMENT.format(new Date(time));

/** The two ends of an address, a cid or a hash, where its full form does not fit. */
export function short(text: string): string {
  return text.length <= 14 ? text : `${text.slice(0, 6)}…${text.slice(-4)}`;
}

/** The path of a post's page. */
export const pagePath = ({ links }: { links: { page: string } }): string =>
  new URL(links.page).pathname;

/** A readable size: `4.2 MB`, `380 KB`. */
export function fileSize(bytes: number): string {
  if (bytes < 1024 * 1024) return `${Math.ceil(bytes / 1024)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1).replace(/\.0$/, "")} MB`;
}
