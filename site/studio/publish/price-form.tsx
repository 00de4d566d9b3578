/** Changing the price of a post, with the steps of its transaction. */

import { formatCoin, type Post } from "imprint-press";
import { useEffect, useState } from "preact/hooks";
import { coin } from "../../page/format.ts";
import { imprint } from "../../page/service.ts";
import type { Account } from "../../wallet/index.ts";
import { PriceField } from "./fields.tsx";
import { parsePrice, priceProblem } from "./limits.ts";
import { beginPriceChange, type PriceChange, priceStates } from "./price-change.ts";
import { Repricing } from "./repricing.ts";
import { Steps } from "./steps.tsx";
import { forgetPriceChange, priceWorldOf, recallPriceChange } from "./studio-world.ts";

const NAMES = ["Send the transaction", "Mined", "Shown to readers"];
const NOTES = [
  "Confirm the transaction in your wallet. Its network fee is shown there.",
  "The chain is working on it. You may close this page: it goes on without you.",
  "The chain has the new price. The service is about to see it.",
];

interface Props {
  by: Account;
  post: Post;
  onChanged(post: Post): void;
}

/** Whether a change of this post's price was begun and is not done. */
export const isPriceChanging = (by: Account, post: Post): boolean =>
  recallPriceChange(by.address, post.id) !== null;

export function PriceForm({ by, post, onChanged }: Props) {
  const [text, setText] = useState(formatCoin(post.price));
  const [isChanged, setChanged] = useState(false);
  const open = (change: PriceChange) => new Repricing(change, priceWorldOf(by.address, post.id));
  const [repricing, setRepricing] = useState(() => {
    const kept = recallPriceChange(by.address, post.id);
    return kept && open(kept);
  });
  const run = async (act: () => Promise<void>, running: Repricing) => {
    await act();
    if (running.change.value.step !== "done") return;
    onChanged(
      await imprint.showPost(post.id).catch(() => ({ ...post, price: running.change.value.price })),
    );
    setRepricing(null);
    setChanged(true);
  };
  useEffect(() => {
    // What was sent, or may have been, is followed without asking the wallet.
    if (repricing?.change.value.asked) void run(() => repricing.run(), repricing);
  }, []);
  const start = (event: Event) => {
    event.preventDefault();
    if (priceProblem(text) !== null) return;
    const begun = open(beginPriceChange(post.id, parsePrice(text)));
    setChanged(false);
    setRepricing(begun);
    void run(() => begun.run(), begun);
  };
  const leave = () => {
    forgetPriceChange(by.address, post.id);
    setRepricing(null);
  };
  if (repricing) return <Changing repricing={repricing} run={run} onLeave={leave} />;
  const isSame = priceProblem(text) === null && parsePrice(text).toString() === post.price;
  return (
    <form class="price-change" onSubmit={start} noValidate>
      <PriceField id={`price-${post.id}`} value={text} onChange={setText} />
      <button type="submit" disabled={isSame || priceProblem(text) !== null}>
        Change the price
      </button>
      <p role="status">{isChanged && "The price is changed."}</p>
    </form>
  );
}

interface ChangingProps {
  repricing: Repricing;
  run(act: () => Promise<void>, running: Repricing): Promise<void>;
  onLeave(): void;
}

function Changing({ repricing, run, onLeave }: ChangingProps) {
  const change = repricing.change.value;
  const failure = repricing.failure.value;
  const isRunning = repricing.isRunning.value;
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
        waiting={repricing.note.value}
        continueLabel="Continue"
        onContinue={() => void run(() => repricing.run(), repricing)}
        onAskAgain={() => void run(() => repricing.askAgain(), repricing)}
        onSwitchChain={() => void run(() => repricing.switchChain(), repricing)}
      />
      {!change.asked && !isRunning && (
        <button type="button" class="quiet" onClick={onLeave}>
          Leave the price as it is
        </button>
      )}
    </div>
  );
}
