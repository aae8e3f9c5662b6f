/**
 * Compares two texts by their UTF-16 code units, for `sort`. Unlike `localeCompare`, the order does not depend on the
 * locale.
 */
export function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
