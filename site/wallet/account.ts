/** An account that a page can act for. */

import type { Address, Provider, Wallet } from "imprint-press";

export interface Account {
  readonly address: Address;
  readonly wallet: Wallet;
  readonly provider: Provider;
  readonly name: string;
  readonly icon: string | null;
}
