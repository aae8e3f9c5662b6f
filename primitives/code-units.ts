/** The order of texts by their UTF-16 code units, which is the same everywhere. */
export function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
