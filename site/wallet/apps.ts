/** Wallet apps on phones: links that open a page in their browsers, and a code to scan. */

interface WalletApp {
  readonly name: string;
  /** The documented link that opens a page in the app's own browser. */
  link(page: string): string;
}

/** Apps whose makers document such a link, and whose browsers work on every EVM chain. */
export const WALLET_APPS: readonly WalletApp[] = [
  {
    name: "MetaMask",
    // Without the scheme and not encoded: otherwise its browser stays empty.
    link: (page) => `https://link.metamask.io/dapp/${page.replace(/^https:\/\//, "")}`,
  },
  {
    name: "Base (Coinbase Wallet)",
    link: (page) => `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent(page)}`,
  },
  {
    name: "Trust Wallet",
    // 60 is Ethereum's number in SLIP-44, which stands for all EVM chains here.
    link: (page) =>
      `https://link.trustwallet.com/open_url?coin_id=60&url=${encodeURIComponent(page)}`,
  },
  {
    name: "OKX Wallet",
    link: (page) => {
      const opening = `okx://wallet/dapp/url?dappUrl=${encodeURIComponent(page)}`;
      return `https://web3.okx.com/download?deeplink=${encodeURIComponent(opening)}`;
    },
  },
];

/** Whether a browser runs on a phone or tablet, where wallets are apps and not extensions. */
export function isHandheld({
  userAgent,
  maxTouchPoints,
}: Pick<Navigator, "userAgent" | "maxTouchPoints">): boolean {
  // An iPad says that it is a Mac, but no Mac has a touch screen.
  return (
    /Android|iPhone|iPad|iPod/.test(userAgent) ||
    (/Macintosh/.test(userAgent) && maxTouchPoints > 1)
  );
}

/**
 * The address of a page for a wallet app, which may be on another device. Null if apps cannot open
 * it: they require https, and another device has its own localhost.
 */
export function addressForApps({
  href,
  protocol,
  hostname,
}: Pick<Location, "href" | "protocol" | "hostname">): string | null {
  const isLocal = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  return protocol === "https:" && !isLocal ? href : null;
}

/** A QR code of an address, as the URL of a picture that is drawn without any request. */
export async function drawCode(address: string): Promise<string> {
  const { default: encodeQR } = await import("qr");
  // Scanners need a margin of four modules.
  return `data:image/svg+xml,${encodeURIComponent(encodeQR(address, "svg", { border: 4 }))}`;
}
