import fc from 'fast-check';
import type { Ride } from './table-command-support.ts';

type Truth = boolean | null;
type Value = string | number | boolean | null;
type Predicate = readonly [text: string, holds: (ride: Ride) => Truth];

const known = (value: Value, of: (value: never) => boolean): Truth => (value === null ? null : of(value as never));
const and = (a: Truth, b: Truth): Truth =>
  a === false || b === false ? false : a === null || b === null ? null : true;
const not = (a: Truth): Truth => (a === null ? null : !a);
const or = (a: Truth, b: Truth): Truth => not(and(not(a), not(b)));

const PREDICATES: readonly Predicate[] = [
  ['fare > 2.5', ({ fare }) => known(fare, (x: number) => x > 2.5)],
  ['hour between 1 and 7', ({ hour }) => known(hour, (x: number) => x >= 1 && x <= 7)],
  ['not card', ({ card }) => not(card)],
  ['tip is null', ({ tip }) => tip === null],
  ["zone in ('a', 'é')", ({ zone }) => known(zone, (x: string) => x === 'a' || x === 'é')],
  ["zone >= 'b'", ({ zone }) => known(zone, (x: string) => Buffer.compare(Buffer.from(x), Buffer.from('b')) >= 0)],
  ['tip * 2 - hour <= 3', ({ tip, hour }) => (tip === null || hour === null ? null : tip * 2 - hour <= 3)],
  ['"fare" <> 0', ({ fare }) => known(fare, (x: number) => x !== 0)],
];
const leaf = fc.constantFrom(...PREDICATES);

/**
 * Random conditions. A condition is a pair of the text for the command and a function that decides the condition for a
 * ride (a row).
 */
export const somePredicate: fc.Arbitrary<Predicate> = fc.letrec<{ any: Predicate }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    { weight: 3, arbitrary: leaf },
    {
      weight: 1,
      arbitrary: tie('any').map(([text, holds]): Predicate => [`not (${text})`, (ride) => not(holds(ride))]),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(tie('any'), tie('any'), fc.boolean())
        .map(
          ([[a, holdsA], [b, holdsB], isOr]): Predicate => [
            `(${a} ${isOr ? 'or' : 'and'} ${b})`,
            (ride) => (isOr ? or : and)(holdsA(ride), holdsB(ride)),
          ],
        ),
    },
  ),
})).any;

type Question = readonly [text: string, answer: (rides: readonly Ride[]) => Value];

const values = <K extends keyof Ride>(rides: readonly Ride[], name: K): NonNullable<Ride[K]>[] =>
  rides.map((ride) => ride[name]).filter((value) => value !== null) as NonNullable<Ride[K]>[];
const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
const total = (numbers: readonly number[]): Value => (numbers.length === 0 ? null : sum(numbers));
const mean = (numbers: readonly number[]): Value => (numbers.length === 0 ? null : sum(numbers) / numbers.length);
const sorted = (numbers: readonly number[]): number[] => [...numbers].sort((a, b) => a - b);
const strings = (texts: readonly string[]): string[] =>
  [...texts].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
const median = (numbers: readonly number[]): Value => {
  const [all, last] = [sorted(numbers), numbers.length - 1];
  return last < 0 ? null : (all[Math.floor(last / 2)]! + all[Math.ceil(last / 2)]!) / 2;
};
/** The variance of small integers. Its division is the only operation that rounds. */
const variance = (numbers: readonly number[]): Value => {
  const [n, s, squares] = [
    BigInt(numbers.length),
    BigInt(sum(numbers)),
    numbers.reduce((a, b) => a + BigInt(b) ** 2n, 0n),
  ];
  return n < 2n ? null : Number(n * squares - s * s) / Number(n * (n - 1n));
};
const hoursOf = (rides: readonly Ride[]): number[] => values(rides, 'hour');
const both = (rides: readonly Ride[], of: (hour: number, tip: number) => number): number[] =>
  rides.flatMap(({ hour, tip }) => (hour === null || tip === null ? [] : [of(hour, tip)]));

const QUESTIONS: readonly Question[] = [
  ['count', (rides) => rides.length],
  ['count(*) as rows', (rides) => rides.length],
  ['count(fare)', (rides) => values(rides, 'fare').length],
  ['count(distinct zone)', (rides) => new Set(values(rides, 'zone')).size],
  ['count(distinct fare)', (rides) => new Set(values(rides, 'fare')).size],
  ['sum(tip)', (rides) => total(values(rides, 'tip'))],
  ['avg(tip)', (rides) => mean(values(rides, 'tip'))],
  ['sum(fare)', (rides) => total(values(rides, 'fare'))],
  ['avg(fare) as mean', (rides) => mean(values(rides, 'fare'))],
  ['variance(hour)', (rides) => variance(hoursOf(rides))],
  ['min(fare)', (rides) => sorted(values(rides, 'fare'))[0] ?? null],
  ['max(tip)', (rides) => sorted(values(rides, 'tip')).at(-1) ?? null],
  ['max(zone)', (rides) => strings(values(rides, 'zone')).at(-1) ?? null],
  ['min(card)', (rides) => (values(rides, 'card').length === 0 ? null : values(rides, 'card').every(Boolean))],
  ['median(fare)', (rides) => median(values(rides, 'fare'))],
  ['median(tip)', (rides) => median(values(rides, 'tip'))],
  [
    'median(zone)',
    (rides) => strings(values(rides, 'zone'))[Math.floor((values(rides, 'zone').length - 1) / 2)] ?? null,
  ],
  ['median(hour + 2 * tip)', (rides) => median(both(rides, (hour, tip) => hour + 2 * tip))],
  [
    'quantile(tip, 0.25)',
    (rides) => sorted(values(rides, 'tip'))[Math.max(0, Math.ceil(0.25 * values(rides, 'tip').length) - 1)] ?? null,
  ],
  ['smallest(fare, 2)', (rides) => sorted(values(rides, 'fare'))[1] ?? null],
  ['largest(hour, 3)', (rides) => sorted(hoursOf(rides)).at(-3) ?? null],
  ['sum(hour * tip)', (rides) => total(both(rides, (hour, tip) => hour * tip + 0))],
  ['max(hour - tip)', (rides) => sorted(both(rides, (hour, tip) => hour - tip)).at(-1) ?? null],
];

export const someQuestions: fc.Arbitrary<readonly Question[]> = fc.uniqueArray(fc.constantFrom(...QUESTIONS), {
  minLength: 1,
  maxLength: 5,
});

const KEYS = ['zone', 'hour', 'card', 'tip'] as const;
export const someKeys: fc.Arbitrary<readonly (typeof KEYS)[number][]> = fc.shuffledSubarray([...KEYS]);

/** The expected CSV of a grouped query, computed by plain loops. */
export function groupsByHand(
  rides: readonly Ride[],
  [, holds]: Predicate,
  keys: readonly (keyof Ride)[],
  questions: readonly Question[],
): string {
  const groups = new Map<string, Ride[]>(keys.length === 0 ? [['[]', []]] : []);
  for (const ride of rides) {
    if (holds(ride) !== true) continue;
    const key = JSON.stringify(keys.map((name) => ride[name]));
    groups.set(key, [...(groups.get(key) ?? []), ride]);
  }
  const ordered = [...groups].map(([key, some]) => [JSON.parse(key) as Value[], some] as const);
  ordered.sort(([a], [b]) => a.map((_, k) => orderOf(a[k]!, b[k]!)).find((apart) => apart !== 0) ?? 0);
  const names = questions.map(([text]) => text.split(' as ')[1] ?? text);
  const lines = ordered.map(([key, some]) => [...key, ...questions.map(([, answer]) => answer(some))]);
  return csvOf([[...keys, ...names], ...lines]);
}

/** Compares values: ascending, with nulls last. */
function orderOf(a: Value, b: Value): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return Number(a) - Number(b);
}

export function rowsByHand(rides: readonly Ride[], [, holds]: Predicate, names: readonly (keyof Ride)[]): string {
  const chosen = rides.filter((ride) => holds(ride) === true);
  return csvOf([names, ...chosen.map((ride) => names.map((name) => ride[name]))]);
}

/**
 * Of the rides (rows) that satisfy a condition, the `k` with the highest or the lowest fares. If fares are equal,
 * earlier rides come first.
 */
export function topByHand(rides: readonly Ride[], [, holds]: Predicate, k: number, descending: boolean): string {
  const some = rides.filter((ride) => holds(ride) === true && ride.fare !== null);
  const ordered = some
    .map((ride, i) => [ride, i] as const)
    .sort(([a, i], [b, j]) => (descending ? b.fare! - a.fare! : a.fare! - b.fare!) || i - j);
  return csvOf([['fare', 'zone', 'tip'], ...ordered.slice(0, k).map(([{ fare, zone, tip }]) => [fare, zone, tip])]);
}

function csvOf(lines: readonly (readonly Value[])[]): string {
  const cell = (value: Value): string => {
    const text = value === null ? '' : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return lines.map((line) => `${line.map(cell).join(',')}\n`).join('');
}
