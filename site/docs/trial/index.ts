/** *Try it*: the form of every operation, and its response. */

import { effect } from "@preact/signals-core";
import { button, fill, h } from "../../page/dom.ts";
import { short } from "../../page/format.ts";
import { account, explain, session } from "../../wallet/index.ts";
import { addCopyButtons } from "../copy-buttons.ts";
import { WORDS } from "../words.ts";
import { confirmed } from "./confirmation.ts";
import { discover, remember } from "./discovery.ts";
import type { Exchange } from "./exchange.ts";
import { buildFields } from "./form.ts";
import { isDestructive, type Operation, type Values } from "./request.ts";
import { showExchange } from "./result.ts";
import { send } from "./transmission.ts";

export function addTrials(): void {
  const text = document.getElementById("operations")?.textContent ?? "[]";
  const operations = JSON.parse(text) as Operation[];
  const revoke = operations.find(({ name }) => name === "revokeWritingSession");
  for (const operation of operations) {
    const article = document.querySelector(`[data-try="${operation.name}"]`);
    const request = article?.querySelector(".sample > .panels, .sample > .code");
    const trial = h("details", { class: "try" }, h("summary", null, WORDS.tryIt));
    // Some sixty forms: each is built when it is opened.
    const open = (): void => {
      discover();
      trial.append(...new Trial(operation, revoke).elements);
    };
    trial.addEventListener("toggle", open, { once: true });
    request?.after(trial);
  }
}

class Trial {
  readonly elements: HTMLElement[];
  private readonly result = h("div", { class: "result" });
  private readonly submit: HTMLButtonElement;
  private readonly form: HTMLFormElement;

  constructor(
    private readonly operation: Operation,
    private readonly revoke: Operation | undefined,
  ) {
    this.submit = h("button", { class: "primary" }, WORDS.send);
    this.form = h(
      "form",
      { onsubmit: (event) => void this.onSubmit(event) },
      ...buildFields(operation),
      whoSends(operation),
      this.submit,
    );
    this.elements = [this.form, this.result];
  }

  private async onSubmit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (isDestructive(this.operation) && !(await confirmed(this.operation))) return;
    const data = new FormData(this.form);
    await this.send(this.operation, textsOf(data), fileOf(data));
  }

  private async send(operation: Operation, values: Values, picture: File | null): Promise<void> {
    this.submit.disabled = true;
    fill(this.result, h("p", { class: "hint", role: "status" }, WORDS.waitingResponse));
    try {
      const exchange = await send(operation, values, picture);
      remember(operation.name, exchange);
      fill(this.result, ...showExchange(exchange), this.aftermath(operation, values, exchange));
      addCopyButtons(this.result);
    } catch (error) {
      fill(this.result, h("p", { class: "failed", role: "alert" }, explain(error).sentence));
    } finally {
      this.submit.disabled = false;
    }
  }

  /** What happened to the key of a writing session, and how to end it. */
  private aftermath(operation: Operation, values: Values, exchange: Exchange): HTMLElement | null {
    const revoke = this.revoke;
    if (operation.name !== "openWritingSession" || exchange.status >= 400 || !revoke) return null;
    const { id } = (JSON.parse(exchange.text) as { session: { id: string } }).session;
    const said = values.key === "keep" ? WORDS.keyBrowserWhereNo : WORDS.keyGoneNobodyCan;
    return h(
      "div",
      { class: "aftermath" },
      h("p", null, said),
      button(WORDS.revokeIt, () => void this.send(revoke, { id }, null)),
    );
  }
}

/** Who sends the request, if it matters: shown before the button is pressed. */
function whoSends({ access }: Operation): HTMLElement {
  const line = h("p", { class: "hint" });
  effect(() => {
    const signer = account.value;
    const name = signer ? `${signer.name}, ${short(signer.address)}` : null;
    const reader = session.value ? short(session.value.address) : null;
    line.hidden = access === "none";
    if (access === "wallet")
      line.textContent = name ? WORDS.signedWhenSend(name) : WORDS.youllChooseAccountFirst;
    else if (access === "session")
      line.textContent = reader ? WORDS.sentSession(reader) : WORDS.youllSignFirst;
    else
      line.textContent = reader ? WORDS.sentSessionWhichCan(reader) : WORDS.sentWithoutSessionOnly;
  });
  return line;
}

function textsOf(data: FormData): Values {
  const texts = [...data].filter((pair): pair is [string, string] => typeof pair[1] === "string");
  return Object.fromEntries(texts);
}

function fileOf(data: FormData): File | null {
  const file = data.get("file");
  return file instanceof File && file.size > 0 ? file : null;
}
