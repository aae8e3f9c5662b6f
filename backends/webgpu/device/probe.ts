import type { Determinism } from '../../../primitives/contract/backend.ts';
import { largestOf } from '../../../primitives/host/extremes.ts';
import type { Module } from '../../../primitives/ir/ir.ts';
import { SMALLEST_NORMAL_F32 } from '../../../primitives/ir/semantics.ts';
import { type Arithmetic, type ArithmeticChoice, guardedArithmetic, plainArithmetic } from './arithmetic.ts';
import { expectedWord, type Pattern, patterns, probeModule } from './probe-patterns.ts';

/** Runs a module on the device with the given columns as its arrays. Returns one column of words for each result. */
export type ProbeRun = (
  module: Module,
  columns: ReadonlyMap<string, Uint32Array>,
  arithmetic: Arithmetic,
) => Promise<readonly Uint32Array[]>;

/** The arithmetic chosen for a device, and the resulting determinism. */
export interface Verdict {
  readonly arithmetic: Arithmetic;
  readonly determinism: Determinism;
}

const known = new Map<string, Promise<Verdict>>();

/**
 * Tests how a device computes f32 operations and chooses their WGSL forms. The verdict is cached by the adapter's
 * description. Choices in `wanted` replace the choices of the test. The returned level of determinism is measured with
 * the final choices.
 */
export function probe(info: GPUAdapterInfo, run: ProbeRun, wanted: Partial<Arithmetic> = {}): Promise<Verdict> {
  const { vendor, architecture, device, description } = info;
  const key = JSON.stringify([vendor, architecture, device, description, wanted]);
  const verdict = known.get(key) ?? judge(run, wanted);
  known.set(key, verdict);
  verdict.catch(() => known.delete(key));
  return verdict;
}

async function judge(run: ProbeRun, wanted: Partial<Arithmetic>): Promise<Verdict> {
  const plain = await measure(run, plainArithmetic);
  const arithmetic = { ...chooseFor(plain), ...wanted };
  const chosen = await measure(run, arithmetic);
  const left = chosen.filter(({ wrong }) => wrong > 0);
  const ulp = largestOf(
    left.map((finding) => finding.ulp),
    0,
  );
  const level = left.length === 0 ? 'exact' : 'within-ulp';
  return { arithmetic, determinism: { level, ulp, reasons: reasonsOf(plain, left, arithmetic) } };
}

/**
 * Sentences that explain a verdict: which operations deviate on the device and which forms remedy them, which
 * operations still deviate, and what is not tested.
 */
function reasonsOf(plain: readonly Finding[], left: readonly Finding[], arithmetic: Arithmetic): string[] {
  const choices = Object.keys(arithmetic) as ArithmeticChoice[];
  const differing = plain.filter(({ wrong }) => wrong > 0);
  const remedied = choices.flatMap((choice) => {
    const found = differing.filter(({ pattern }) => pattern.remedy[choice] !== undefined);
    if (found.length === 0) return [];
    return [
      `The device itself does not round ${found.map(describe).join(', ')} correctly; ${choice} is ${arithmetic[choice]}.`,
    ];
  });
  const exact =
    left.length === 0
      ? []
      : [`Not exact: ${left.map(({ pattern, ulp }) => `${pattern.title} (${ulp} ulp)`).join(', ')}.`];
  return [...remedied, ...exact, `Magnitudes below ${SMALLEST_NORMAL_F32}, subnormal numbers, may be flushed to zero.`];
}

function describe({ pattern, asked, wrong }: Finding): string {
  return `${pattern.title} (${((100 * wrong) / asked).toFixed(1)} %)`;
}

interface Finding {
  readonly pattern: Pattern;
  readonly asked: number;
  readonly wrong: number;
  readonly ulp: number;
}

async function measure(run: ProbeRun, arithmetic: Arithmetic): Promise<Finding[]> {
  questions ??= pose();
  const { columns, expected } = questions;
  const results: Uint32Array[] = [];
  for (let from = 0; from < patterns.length; from += PATTERNS_A_SHADER) {
    const module = probeModule(patterns.slice(from, from + PATTERNS_A_SHADER));
    results.push(...(await run(module, columns, arithmetic)));
  }
  return patterns.map((pattern, k) => {
    let [asked, wrong, ulp] = [0, 0, 0];
    for (const [i, wanted] of expected[k]!.entries()) {
      if (wanted === undefined) continue;
      asked++;
      const got = results[k]![i]!;
      if (got === wanted) continue;
      wrong++;
      ulp = Math.max(ulp, Math.abs(rank(got) - rank(wanted)));
    }
    return { pattern, asked, wrong, ulp };
  });
}

interface Questions {
  readonly columns: ReadonlyMap<string, Uint32Array>;
  /** For every pattern, the specified results for all rows of operands. */
  readonly expected: readonly (readonly (number | undefined)[])[];
}

let questions: Questions | undefined;

function pose(): Questions {
  const columns = probeColumns();
  const expected = patterns.map((pattern) => {
    const [a, b, c] = ['a', 'b', 'c'].map((name) => columns.get(`${pattern.operands}-${name}`)!);
    return Array.from(a!, (word, i) => expectedWord(pattern, { a: word, b: b![i]!, c: c![i]! }));
  });
  return { columns, expected };
}

/** Maps the bits of floats to integers that are ordered like the floats, with −0 just below +0. */
function rank(bits: number): number {
  return bits >= 0x80000000 ? 0x7fffffff - bits : bits;
}

/**
 * Combines the remedies for all deviations. If two remedies concern the same kind of operation, the stronger one is
 * used.
 */
function chooseFor(findings: readonly Finding[]): Arithmetic {
  const choices: { -readonly [choice in keyof Arithmetic]: string } = { ...plainArithmetic };
  for (const { wrong, pattern } of findings) {
    for (const [choice, form] of Object.entries(wrong > 0 ? pattern.remedy : {})) {
      const strongest = guardedArithmetic[choice as ArithmeticChoice];
      if (choices[choice as ArithmeticChoice] !== strongest) choices[choice as ArithmeticChoice] = form;
    }
  }
  return choices as Arithmetic;
}

/** Maximum number of patterns per shader, because one large shader takes longer to compile than several small ones. */
const PATTERNS_A_SHADER = 6;
/** Number of rows of operands with which every pattern is tested. */
const COUNT = 2048;
const special = [
  0, 0x80000000, 0x7fc00000, 0xffc00001, 0x7f800000, 0xff800000, 0x3f800000, 0xbf800000, 0x4f800000, 0xcf000000,
];

/**
 * Columns of test operands. A name such as `floats-a` consists of the kind and the operand. A third of the `floats`
 * have binary exponents from −10 to 10, a third from −60 to 60 and a third from −126 to 126. Some floats are zeros, and
 * many mantissas are all zeros or all ones. `words` have all bit lengths. `specials` mix special values with floats.
 */
function probeColumns(): ReadonlyMap<string, Uint32Array> {
  const random = mixer();
  const spans = [10, 60, 126];
  const float = (i: number): number => {
    if (random() % 32 === 0) return ((random() & 1) << 31) >>> 0;
    const span = spans[i % spans.length]!;
    const exponent = 127 - span + (random() % (2 * span + 1));
    const mantissa = [random() & 0x7fffff, random() & 0x7fffff, 0, 0x7fffff, 1][random() % 5]!;
    return (((random() & 1) << 31) | (exponent << 23) | mantissa) >>> 0;
  };
  const make = {
    floats: float,
    words: () => random() >>> (random() % 32),
    specials: (i: number) => (random() % 2 === 0 ? special[random() % special.length]! : float(i)),
  };
  const columns = Object.entries(make).flatMap(([kind, next]) =>
    ['a', 'b', 'c'].map((name): [string, Uint32Array] => [
      `${kind}-${name}`,
      Uint32Array.from({ length: COUNT }, (_, i) => next(i)),
    ]),
  );
  const edges = Array.from({ length: COUNT }, (_, i) => edgeOperands(random(), i));
  for (const [k, name] of ['a', 'b', 'c'].entries())
    columns.push([`edges-${name}`, Uint32Array.from(edges, (row) => row[k]!)]);
  return new Map(columns);
}

/**
 * Bits of numbers a, b and c such that a · b and a / c are close to 2^-126. The numbers b and c are powers of two, or
 * differ from a power of two in the last bit.
 */
function edgeOperands(bits: number, i: number): [number, number, number] {
  const exponent = 1 + (bits % 126);
  const mantissa = [0x7fffff, 0x7ffffe, bits >>> 9, 0][i % 4]!;
  const last = i % 8 < 4 ? 0 : 1;
  return [(exponent << 23) | mantissa, ((127 - exponent) << 23) | last, ((127 + exponent) << 23) | last];
}

/** A generator of repeatable pseudo-random words. */
function mixer(): () => number {
  let state = 0x2545f491;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let x = state;
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
    x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
    return (x ^ (x >>> 16)) >>> 0;
  };
}
