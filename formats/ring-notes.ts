/** What is said of rings that were noticed, by the codes of their notes. */
export const RING_SENTENCES: Readonly<Record<string, (count: number) => string>> = {
  'zones/unclosed-rings': (n) => `${ringsThat(n, 'was', 'were')} left open and ${n === 1 ? 'was' : 'were'} closed, in`,
  'zones/empty-rings': (n) => `${ringsThat(n, 'has', 'have')} no vertices, in`,
  'zones/zero-area-rings': (n) =>
    `${ringsThat(n, 'has all its', 'have all their')} vertices on one line and ${n === 1 ? 'encloses' : 'enclose'} no area, in`,
};

/** `1 ring was` or `3 rings were`. */
export function ringsThat(count: number, singular: string, plural: string): string {
  return count === 1 ? `1 ring ${singular}` : `${count} rings ${plural}`;
}
