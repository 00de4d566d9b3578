/** Why a call failed: the service refused it, could not be reached, or needs the wallet. */

import type { Code, Problem } from "./records.js";

/** All stable codes of refusals. */
export const CODES = [
  "invalid_request",
  "invalid_json",
  "invalid_cid",
  "invalid_address",
  "invalid_post_id",
  "invalid_tags",
  "invalid_page_token",
  "invalid_typed_data",
  "invalid_login_message",
  "invalid_image",
  "invalid_profile",
  "signature_invalid",
  "signature_stale",
  "body_mismatch",
  "form_not_accepted",
  "writing_session_invalid",
  "writing_session_expired",
  "writing_session_scope",
  "session_missing",
  "session_invalid",
  "session_expired",
  "session_ended",
  "webhook_signature_invalid",
  "payment_required",
  "not_owner",
  "not_author",
  "subject_mismatch",
  "not_entitled",
  "not_free",
  "not_found",
  "no_opening",
  "unknown_revision",
  "method_not_allowed",
  "request_timeout",
  "nonce_used",
  "not_pending",
  "already_onchain",
  "author_refused",
  "removed",
  "withheld",
  "too_many_writing_sessions",
  "not_final",
  "too_many_feeds",
  "too_many_revisions",
  "not_cached",
  "too_large",
  "quota_exceeded",
  "unsupported_media_type",
  "range_not_satisfiable",
  "rate_limited",
  "not_implemented",
  "chain_unavailable",
  "storage_unavailable",
  "database_unavailable",
  "index_unavailable",
  "overloaded",
  "internal_error",
] as const satisfies readonly Code[];

/** The service refused. Branch on `code`; show `detail` to people. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: Code;
  readonly status: number;
  readonly detail: string;

  constructor(
    readonly problem: Problem,
    /** Seconds after which to try again, if the service named them. */
    readonly retryAfter: number | null = null,
  ) {
    super(problem.detail);
    this.code = problem.code;
    this.status = problem.status;
    this.detail = problem.detail;
  }
}

/** Whether a refusal says that a signature is too old or too new, by the service's clock. */
export const isStale = (error: unknown): error is Refusal =>
  error instanceof Refusal && error.code === "signature_stale";

/** No response from the service: no network, or something in front of it responded instead. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";

  constructor(
    message: string,
    /** The status of whatever responded instead of the service, if anything did. */
    readonly status: number | null = null,
    readonly retryAfter: number | null = null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * A save may have taken effect: its response was lost, and its signature is now too old to be sent
 * again. Look for the draft before saving again.
 */
export class Unconfirmed extends Error {
  override readonly name = "Unconfirmed";
}

/** The key of a writing session is not, or no longer, valid: the wallet has to sign again. */
export class WalletNeeded extends Error {
  override readonly name = "WalletNeeded";
}

/** The contract reverted a transaction: it is in a block, and had no effect. */
export class Reverted extends Error {
  override readonly name = "Reverted";
}

/** A post costs more than may be paid. Nothing was sent. Amounts are in wei. */
export class TooExpensive extends Error {
  override readonly name = "TooExpensive";

  constructor(
    readonly price: bigint,
    readonly max: bigint,
  ) {
    super(`The price is ${price} wei, and at most ${max} wei may be paid.`);
  }
}

/** An offer is not for the requested post at the expected marketplace. Nothing was signed or sent. */
export class InvalidOffer extends Error {
  override readonly name = "InvalidOffer";
}
