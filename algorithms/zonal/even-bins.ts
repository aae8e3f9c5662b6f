/**
 * Number of bins of a given width in a range. Undefined if the width does not divide the range. Each argument stands
 * for the decimal number as which it is printed. So 0:255:0.00001 makes 25,500,000 bins, although the quotient in f64
 * is not a whole number. A quotient within 1e-9 of a whole number also counts as whole (0:1:0.3333333333333333).
 */
export function evenBinCount(low: number, high: number, width: number): number | undefined {
  if (!(high > low) || !(width > 0)) return undefined;
  const quotient = (high - low) / width;
  const bins = Math.round(quotient);
  if (bins < 1) return undefined;
  return Math.abs(quotient - bins) <= 1e-9 ? bins : decimalQuotient(low, high, width);
}

/** The quotient (high − low) / width, computed in exact decimals. Undefined if it is not a whole number. */
function decimalQuotient(low: number, high: number, width: number): number | undefined {
  const decimals = Math.max(...[low, high, width].map(decimalsOf));
  const range = shifted(high, decimals) - shifted(low, decimals);
  const step = shifted(width, decimals);
  return range % step === 0n ? Number(range / step) : undefined;
}

/** `value · 10^places` as an integer. */
function shifted(value: number, places: number): bigint {
  const [digits = '', exponent = '0'] = String(value).split('e');
  const [whole = '', fraction = ''] = digits.split('.');
  return BigInt(whole + fraction) * 10n ** BigInt(places + Number(exponent) - fraction.length);
}

/** Number of decimal places that a number has when it is printed. */
export function decimalsOf(value: number): number {
  const [digits = '', exponent = '0'] = String(value).split('e');
  return Math.max(0, (digits.split('.')[1]?.length ?? 0) - Number(exponent));
}
