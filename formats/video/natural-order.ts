/**
 * Compares names so that numbers in them are ordered by value: `frame2` comes before `frame10`. Names that differ only
 * in leading zeros are compared as texts.
 */
export function compareNatural(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const order = compareParts(left[at]!, right[at]!);
    if (order !== 0) return order;
  }
  return left.length - right.length || compareText(a, b);
}

/** Splits a name into sequences of digits and the texts between them. */
function partsOf(name: string): string[] {
  return name.match(/\d+|\D+/g) ?? [];
}

function compareParts(a: string, b: string): number {
  if (!/^\d/.test(a) || !/^\d/.test(b)) return compareText(a, b);
  const [left, right] = [a.replace(/^0+/, ''), b.replace(/^0+/, '')];
  return left.length - right.length || compareText(left, right);
}

/** Compares by code units, so that the order does not depend on the locale. */
function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
