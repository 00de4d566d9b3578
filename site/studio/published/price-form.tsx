/** The form that changes the price of a post, with the steps of its transaction. */

import { formatCoin, type Post } from "imprint-press";
import { useEffect, useState } from "preact/hooks";
import { coin } from "../../page/format.ts";
import { imprint } from "../../page/service.ts";
import type { Account } from "../../wallet/index.ts";
import { PriceField } from "../publication/fields.tsx";
import { parsePrice, priceProblem } from "../publication/limits.ts";
import { stepStates } from "../transactions/step-runner.ts";
import { Steps } from "../transactions/steps.tsx";
import { WORDS } from "../words.ts";
import { beginPriceChange, PRICE_STEPS, type PriceChange, PriceRunner } from "./price-change.ts";
import { hearPriceChange, keepPriceChange, pricePorts, recallPriceChange } from "./price-ports.ts";

const NAMES = [WORDS.sendTransaction, WORDS.confirmed, WORDS.shownReaders];
const NOTES = [
  WORDS.confirmTransactionWalletWhich,
  WORDS.networkProcessingCanClose,
  WORDS.newPriceChainWill,
];

interface Props {
  by: Account;
  post: Post;
  onChanged(post: Post): void;
}

/** Whether a change of this post's price was started and is unfinished. */
export const isPriceChanging = (by: Account, post: Post): boolean =>
  recallPriceChange(by.address, post.id) !== null;

export function PriceForm({ by, post, onChanged }: Props) {
  const { address } = by;
  const [text, setText] = useState(formatCoin(post.price));
  const [isChanged, setChanged] = useState(false);
  const open = (change: PriceChange) => new PriceRunner(change, pricePorts(address, post.id));
  const [runner, setRunner] = useState(() => {
    const kept = recallPriceChange(address, post.id);
    return kept && open(kept);
  });
  /** Show a change that was started earlier, or by another tab. */
  const follow = (change: PriceChange) => {
    const found = runner ?? open(change);
    found.refresh();
    setChanged(false);
    setRunner(found);
    void found.attend();
  };
  useEffect(() => void runner?.attend(), []);
  useEffect(
    () =>
      hearPriceChange(address, post.id, (kept) => {
        if (kept && (runner || kept.step !== "done")) follow(kept);
        else if (!kept && !runner?.isRunning.value) setRunner(null);
      }),
    [address, post.id, runner],
  );
  const start = (event: Event) => {
    event.preventDefault();
    if (priceProblem(text) !== null) return;
    const other = recallPriceChange(address, post.id);
    if (other) return follow(other);
    const begun = beginPriceChange(post.id, parsePrice(text));
    keepPriceChange(address, post.id, begun);
    const made = open(begun);
    setChanged(false);
    setRunner(made);
    void made.run();
  };
  const leave = () => {
    keepPriceChange(address, post.id, null);
    setRunner(null);
  };
  const finish = async ({ price }: PriceChange) => {
    onChanged(await imprint.showPost(post.id).catch(() => ({ ...post, price, priceHistory: [] })));
    setRunner(null);
    setChanged(true);
  };
  if (runner) return <PriceSteps runner={runner} onDone={finish} onLeave={leave} />;
  const isSame = priceProblem(text) === null && parsePrice(text).toString() === post.price;
  return (
    <form class="price-change" onSubmit={start} noValidate>
      <PriceField id={`price-${post.id}`} value={text} onChange={setText} />
      <button type="submit" disabled={isSame || priceProblem(text) !== null}>
        {WORDS.changePrice}
      </button>
      <p role="status">{isChanged && WORDS.priceChanged}</p>
    </form>
  );
}

interface StepsProps {
  runner: PriceRunner;
  onDone(change: PriceChange): Promise<void>;
  onLeave(): void;
}

function PriceSteps({ runner, onDone, onLeave }: StepsProps) {
  const change = runner.change.value;
  const failure = runner.failure.value;
  const isRunning = runner.isRunning.value;
  const isElsewhere = runner.isElsewhere.value;
  const isDone = change.step === "done";
  useEffect(() => {
    if (isDone) void onDone(change);
  }, [isDone]);
  return (
    <div class="price-change">
      <p>{WORDS.newPriceWill(change.price === "0" ? WORDS.priceFree : coin(change.price))}</p>
      {isElsewhere && (
        <p class="studio-note" role="status">
          {WORDS.youreChangingPriceAnother}
        </p>
      )}
      <Steps
        steps={stepStates(PRICE_STEPS, change.step, failure !== null).map((state, index) => ({
          name: NAMES[index] ?? "",
          state,
          note: NOTES[index] ?? "",
        }))}
        failure={failure}
        isRunning={isRunning}
        isElsewhere={isElsewhere}
        waiting={runner.note.value}
        continueLabel={WORDS.continue}
        onContinue={() => void runner.run()}
        onAskAgain={() => void runner.askAgain()}
        onSwitchChain={() => void runner.switchChain()}
      />
      {!change.asked && !isRunning && !isElsewhere && !isDone && (
        <button type="button" class="quiet" onClick={onLeave}>
          {WORDS.keepCurrentPrice}
        </button>
      )}
    </div>
  );
}
