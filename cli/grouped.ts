/**
 * Formats a whole number with commas, such as `1,234`. (`toLocaleString` is not used, because its first call takes 25
 * ms.)
 */
export function grouped(value: number | bigint): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** Formats a number with its noun, such as `1,234 pairs`. `things` is its plural. */
export function counted(value: number | bigint, thing: string, things = `${thing}s`): string {
  return `${grouped(value)} ${BigInt(value) === 1n ? thing : things}`;
}
