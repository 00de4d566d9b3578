/** Wallets, for all pages: which account, with which session, on which chain. */

import type { Account } from "./account.ts";
import { switchChain } from "./chains.ts";

export { session } from "../page/session.ts";
export type { Account } from "./account.ts";
export { account, isDevelopmentAccount } from "./connection.ts";
export { developmentAccounts } from "./development.ts";
export {
  AccountChanged,
  Cancelled,
  explain,
  hasSentNothing,
  TooLittle,
  WrongChain,
} from "./failures.ts";
export { connect, signIn, signOut, withSession } from "./session.ts";

/** Before a transaction, offer to switch the wallet to the service's chain if necessary. */
export const onRightChain = (account: Account): Promise<void> => switchChain(account.provider);
