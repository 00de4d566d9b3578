/** Changing the price of a post, with the steps of its transaction. */

import { findReceipt, formatCoin, type Post } from "imprint-press";
import { useEffect, useState } from "preact/hooks";
import { coin } from "../../page/format.ts";
import { imprint } from "../../page/service.ts";
import { recall, remember } from "../../page/storage.ts";
import type { Account } from "../../wallet/index.ts";
import { PriceField } from "./fields.tsx";
import { parsePrice, priceProblem } from "./limits.ts";
import { knowsTransaction } from "./marketplace-entries.ts";
import {
  advancePrice,
  beginPriceChange,
  type PriceChange,
  type PriceEvent,
  priceStates,
} from "./price-change.ts";
import { type Failure, Stopped } from "./publication.ts";
import { Steps } from "./steps.tsx";
import { checkCall, explainFailure, priceCall } from "./studio-world.ts";

const PATIENCE = 120;
const NAMES = ["Send the transaction", "Mined", "Shown to readers"];
const NOTES = [
  "Confirm the transaction in your wallet. Its network fee is shown there.",
  "The chain is working on it.",
  "The chain has the new price. The service is about to see it.",
];

const keyOf = (by: Account, postId: string): string =>
  `imprint.price.${by.address.toLowerCase()}.${postId}`;

const pause = () => new Promise((resolve) => setTimeout(resolve, 1000));

interface Props {
  by: Account;
  post: Post;
  onChanged(post: Post): void;
}

export function PriceForm({ by, post, onChanged }: Props) {
  const [text, setText] = useState(formatCoin(post.price));
  const [change, setChange] = useState(() => recall<PriceChange>(keyOf(by, post.id)));
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isRunning, setRunning] = useState(false);
  const run = async (begun: PriceChange) => {
    setRunning(true);
    setFailure(null);
    let current = begun;
    const move = (event: PriceEvent) => {
      current = advancePrice(current, event);
      remember(keyOf(by, post.id), current.step === "done" ? null : current);
      setChange(current);
    };
    try {
      await runChange(by, () => current, move);
      onChanged(await imprint.showPost(post.id));
    } catch (error) {
      setFailure(error instanceof Stopped ? error.failure : explainFailure(error));
    } finally {
      setRunning(false);
    }
  };
  useEffect(() => {
    if (change?.transaction) void run(change);
  }, []);
  const start = (event: Event) => {
    event.preventDefault();
    if (priceProblem(text) !== null) return;
    const begun = beginPriceChange(post.id, parsePrice(text));
    setChange(begun);
    void run(begun);
  };
  if (change && change.step !== "done") {
    const states = priceStates(change, failure !== null);
    return (
      <div class="price-change">
        <p>The price becomes {change.price === "0" ? "free" : coin(change.price)}.</p>
        <Steps
          steps={states.map((state, index) => ({
            name: NAMES[index] ?? "",
            state,
            note: NOTES[index] ?? "",
          }))}
          failure={failure}
          isRunning={isRunning}
          continueLabel="Continue"
          onContinue={() => void run(change)}
        />
        {!change.transaction && !isRunning && (
          <button type="button" class="quiet" onClick={() => setChange(null)}>
            Leave the price as it is
          </button>
        )}
      </div>
    );
  }
  const isSame = priceProblem(text) === null && parsePrice(text).toString() === post.price;
  return (
    <form class="price-change" onSubmit={start} noValidate>
      <PriceField id={`price-${post.id}`} value={text} onChange={setText} />
      <button type="submit" disabled={isSame || priceProblem(text) !== null}>
        Change the price
      </button>
      {change?.step === "done" && <p role="status">The price is changed.</p>}
    </form>
  );
}

async function runChange(
  by: Account,
  current: () => PriceChange,
  move: (event: PriceEvent) => void,
): Promise<void> {
  const { postId, price } = current();
  if (current().step === "transaction") {
    const call = priceCall(postId, BigInt(price));
    await checkCall(by, call);
    move({ type: "sent", transaction: await by.wallet.sendTransaction(call) });
  }
  const { transaction } = current();
  for (let turn = 0; turn < PATIENCE && current().step !== "done"; turn += 1) {
    if (current().step === "mined" && transaction) {
      const receipt = await findReceipt(by.provider, transaction);
      if (receipt?.status === "success") move({ type: "mined" });
      else if (receipt || (turn > 3 && !(await knowsTransaction(by.provider, transaction)))) {
        move({ type: "ended" });
        const sentence = receipt
          ? "The transaction failed on the chain, perhaps for lack of gas. Send it again?"
          : "The transaction was cancelled or replaced in your wallet. Send it again?";
        throw new Stopped({ sentence, actions: ["retry"] });
      }
    } else if ((await imprint.showPost(postId)).price === price) move({ type: "listed" });
    if (current().step !== "done") await pause();
  }
  if (current().step !== "done") {
    const sentence = "This takes longer than usual. Nothing has to be sent again.";
    throw new Stopped({ sentence, actions: ["retry"] });
  }
}
