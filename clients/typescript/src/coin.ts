/** Amounts of the chain's coin: conversion between wei and decimal notation. */

const DECIMALS = 18;

/** An amount in wei in decimal notation: `10000000000000000` is `0.01`. */
export function formatCoin(wei: string | bigint): string {
  const digits = BigInt(wei)
    .toString()
    .padStart(DECIMALS + 1, "0");
  const whole = digits.slice(0, -DECIMALS);
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, "");
  return fraction ? `${whole}.${fraction}` : whole;
}

/** Parse a decimal amount into wei. Throws `RangeError` with a sentence for the user. */
export function parseCoin(text: string): bigint {
  const [, whole, fraction = ""] = /^(\d+)(?:\.(\d+))?$/.exec(text.trim()) ?? [];
  if (whole === undefined)
    throw new RangeError("Write the amount as a number, such as 0.05, or 0 for free.");
  if (fraction.length > DECIMALS)
    throw new RangeError(`The amount has more than ${DECIMALS} digits after the point.`);
  return BigInt(whole + fraction.padEnd(DECIMALS, "0"));
}
