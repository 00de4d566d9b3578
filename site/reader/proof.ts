/** The proof of a post: what is on the chain, and a check of the bytes in this browser. */

import { verifyDocument } from "imprint-press";
import { button, fill, h } from "../page/dom.ts";
import { facts } from "../page/facts.ts";
import { reader } from "../page/session.ts";
import { explain } from "../wallet/failures.ts";

/** Add the marketplace, the chain and the check to what the page says already. */
export function showProof(post: HTMLElement, place: HTMLElement): void {
  const { cid = "", free, hosted } = post.dataset;
  const result = h("p", { class: "proof-result", role: "status", "aria-live": "polite" });
  const check = () => void verify(cid, result);
  place.append(
    h(
      "dl",
      null,
      row("Marketplace", facts.chain.marketplace),
      row("Chain", `id ${facts.chain.id}`),
    ),
  );
  if (free === "true" && hosted === "true")
    place.append(h("p", null, button("Check in this browser", check, { class: "button" })), result);
  else if (free === "true")
    place.append(
      h("p", null, "The document is not stored at this service, so it cannot be checked here."),
    );
  else
    place.append(
      h(
        "p",
        null,
        "The document of a paid post is not public, so this browser cannot fetch the bytes that the cid names. Who holds the post gets its text from this service.",
      ),
    );
}

const row = (name: string, value: string): HTMLElement =>
  h("div", null, h("dt", null, name), h("dd", null, h("code", null, value)));

async function verify(cid: string, result: HTMLElement): Promise<void> {
  fill(result, "Fetching the document…");
  try {
    const { bytes } = await reader.fetchDocument(cid);
    const isSame = await verifyDocument(bytes, cid);
    result.dataset.kind = isSame ? "good" : "bad";
    fill(
      result,
      isSame
        ? `Checked: this browser fetched ${bytes.length.toLocaleString("en")} bytes, computed their cid by SHA-256, and it is the one above. That the chain names this cid was read by the service, not by this browser.`
        : "The bytes that this service sends do not have the cid above: do not trust this text.",
    );
  } catch (error) {
    result.dataset.kind = "bad";
    fill(result, explain(error).sentence);
  }
}
