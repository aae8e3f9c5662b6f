/** Functions that return the sentence of a note on rings, by the code of the note. `count` is the number of rings. */
export const RING_SENTENCES: Readonly<Record<string, (count: number) => string>> = {
  'zones/unclosed-rings': (n) => `${ringsThat(n, 'was', 'were')} left open and ${n === 1 ? 'was' : 'were'} closed, in`,
  'zones/empty-rings': (n) => `${ringsThat(n, 'has', 'have')} no vertices, in`,
  'zones/zero-area-rings': (n) =>
    `${ringsThat(n, 'has all its', 'have all their')} vertices on one line and ${n === 1 ? 'encloses' : 'enclose'} no area, in`,
};

/** Sentences for notes on rings whose longitudes jump, by the code of the note. */
export const JUMP_SENTENCES: Readonly<Record<string, (count: number) => string>> = {
  'zones/antimeridian-jumps': (n) =>
    `${ringsThat(n, 'jumps', 'jump')} by more than 180 degrees of longitude; taken as written ` +
    '(--antimeridian unwrap would read them as crossing the antimeridian), in',
  'zones/antimeridian-unwrapped': (n) => `${ringsThat(n, 'was', 'were')} read as crossing the antimeridian, in`,
  'zones/antimeridian-kept': (n) =>
    `${ringsThat(n, 'jumps', 'jump')} by more than 180 degrees of longitude but cannot be unwrapped; taken as ` +
    'written, in',
};

/** Sentences for the note on records with points and lines. The argument of the function is the number of records. */
export const OTHER_GEOMETRY_SENTENCE = {
  'polygons/other-geometry': (n: number): string =>
    `${n === 1 ? '1 record has' : `${n} records have`} geometry other than polygons, which was left out`,
} as const;

/** A number of rings with a verb: `1 ring was` or `3 rings were`. */
export function ringsThat(count: number, singular: string, plural: string): string {
  return count === 1 ? `1 ring ${singular}` : `${count} rings ${plural}`;
}
