import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import type { Column } from '../../../primitives/columns/column.ts';
import { Context } from '../../../primitives/context/context.ts';
import { copyIf } from '../../../primitives/copy-if.ts';
import { bool, fn, u32 } from '../../../primitives/functors/functor.ts';
import { gather } from '../../../primitives/gather.ts';
import { map } from '../../../primitives/map.ts';
import { maximum, plus } from '../../../primitives/monoid.ts';
import { exclusiveScan, inclusiveScan } from '../../../primitives/scan.ts';
import { scatter } from '../../../primitives/scatter.ts';
import { sequence } from '../../../primitives/sequence.ts';
import { reverse, slice } from '../../../primitives/slice.ts';
import { caseCount } from '../../cases.ts';
import { randomWords } from '../../support/workers-programs.ts';

const mixed = fn('mixed', { x: u32, y: u32 }, u32, ({ x, y }) => x.mul(2654435761).xor(y.shr(3)));
const odd = fn('odd', { x: u32 }, bool, ({ x }) => x.and(1).eq(1));

/** A replacement for the class WebAssembly.Module. Its constructor refuses every module. */
class Refused {
  constructor() {
    throw new Error('no such opcode');
  }
}

/** A live column and its expected contents. */
interface Known {
  readonly column: Column<'u32'>;
  readonly numbers: Uint32Array;
}

/**
 * Steps that derive a column from one or two others. Each step runs a primitive, and computes the expected numbers with
 * a plain loop.
 */
const steps: {
  readonly [name: string]: (a: Known, b: Known, context: Context) => Known;
} = {
  map: (a, b, context) => ({
    column: context.materialize(map(mixed, { x: a.column, y: b.column })),
    numbers: a.numbers.map((x, i) => Math.imul(x, 2654435761) ^ (b.numbers[i]! >>> 3)),
  }),
  view: (a, b) => ({
    column: map(mixed, { x: a.column, y: b.column }),
    numbers: a.numbers.map((x, i) => Math.imul(x, 2654435761) ^ (b.numbers[i]! >>> 3)),
  }),
  exclusiveScan: (a) => {
    let sum = 0;
    return {
      column: exclusiveScan(a.column, plus(u32)),
      numbers: a.numbers.map((x) => {
        sum += x;
        return sum - x;
      }),
    };
  },
  inclusiveScan: (a) => {
    let max = 0;
    return {
      column: inclusiveScan(a.column, maximum(u32)),
      numbers: a.numbers.map((x) => {
        max = Math.max(max, x);
        return max;
      }),
    };
  },
  gather: (a, b, context) => ({
    column: context.materialize(gather(a.column, context.materialize(map(lowBits, { x: b.column })))),
    numbers: b.numbers.map((x) => a.numbers[x & 0xffff] ?? 0),
  }),
  reverse: (a, _b, context) => ({
    column: context.materialize(reverse(a.column)),
    numbers: a.numbers.toReversed(),
  }),
  neighbours: (a, b, context) => ({
    column: context.materialize(
      map(mixed, { x: gather(a.column, sequence(b.numbers.length, 1)), y: slice(b.column, 0, b.numbers.length) }),
    ),
    numbers: b.numbers.map((y, i) => Math.imul(a.numbers[i + 1] ?? 0, 2654435761) ^ (y >>> 3)),
  }),
  scatter: (a) => ({
    column: scatter(a.column, reverse(sequence(a.numbers.length)), a.numbers.length),
    numbers: a.numbers.toReversed(),
  }),
};
const lowBits = fn('lowBits', { x: u32 }, u32, ({ x }) => x.and(0xffff));

type Step =
  | { readonly kind: 'step'; readonly name: string; readonly a: number; readonly b: number }
  | { readonly kind: 'copyIf' | 'read' | 'dispose'; readonly a: number }
  | { readonly kind: 'turn' };

const arbitrarySteps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('step' as const),
        name: fc.constantFrom(...Object.keys(steps)),
        a: fc.nat(20),
        b: fc.nat(20),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constantFrom('copyIf' as const, 'dispose', 'read'), a: fc.nat(20) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('turn' as const) }) },
  ),
  { minLength: 2, maxLength: 14 },
) as fc.Arbitrary<Step[]>;

describe.each([1, 3])('fusion into tiles on %i workers', (workers) => {
  let context: Context;
  beforeAll(async () => {
    context = new Context(await createWorkersBackend({ workers, inlineNanoseconds: 0, fusedRows: 1 }));
  });
  afterAll(() => context.close());

  test('pipelines give the results of their separate steps', async () => {
    const sizes = fc.constantFrom(1, 5, 1023, 4096, 16385, 40001);
    await fc.assert(
      fc.asyncProperty(sizes, arbitrarySteps, async (n, program) => {
        const first = randomWords(n, 3);
        let known: Known[] = [{ column: context.column(first), numbers: first }];
        const reads: [got: Promise<Uint32Array>, wanted: Uint32Array][] = [];
        const results: Column[] = [];
        for (const step of program) {
          if (step.kind === 'turn') {
            await new Promise((resolve) => setImmediate(resolve));
            continue;
          }
          const a = known[step.a % known.length]!;
          if (step.kind === 'step') known.push(steps[step.name]!(a, known[step.b % known.length]!, context));
          else if (step.kind === 'read') reads.push([context.read(a.column), a.numbers]);
          else if (step.kind === 'copyIf') {
            const chosen = copyIf(a.column, odd);
            results.push(chosen);
            const numbers = a.numbers.filter((x) => x & 1);
            if (reads.length % 2 === 0) reads.push([context.read(chosen), numbers]);
          } else if (known.every(({ column }) => column.source.kind === 'stored') && known.length > 1) {
            known = known.filter((one) => one !== a);
            context.dispose(a.column);
          }
        }
        for (const { column, numbers } of known) reads.push([context.read(column), numbers]);
        for (const [got, wanted] of reads) expect(await got).toEqual(wanted);
        context.dispose(known, results);
      }),
      { numRuns: caseCount(30) },
    );
  });

  test('a map, a scan, a map and a compaction take one phase besides clearing the links of the scans', async () => {
    const n = 50001;
    const words = randomWords(n, 9);
    const column = context.column(words);
    const pipeline = (): Column<'u32'> =>
      context.scope(() => {
        const first = context.materialize(map(mixed, { x: column, y: column }));
        const sums = exclusiveScan(first, plus(u32));
        return copyIf(context.materialize(map(mixed, { x: sums, y: first })), odd);
      });
    context.dispose(pipeline());
    await context.sync();
    const { dispatches, submissions, compilations } = context.backend.counters;
    const chosen = pipeline();
    await context.sync();
    const { counters } = context.backend;
    expect(counters.submissions - submissions).toBe(1);
    expect(counters.dispatches - dispatches).toBe(3);
    expect(counters.compilations).toBe(compilations);

    const first = words.map((x) => Math.imul(x, 2654435761) ^ (x >>> 3));
    let sum = 0;
    const wanted = first
      .map((y) => {
        const before = sum;
        sum += y;
        return Math.imul(before, 2654435761) ^ (y >>> 3);
      })
      .filter((x) => x & 1);
    expect(await context.read(chosen)).toEqual(wanted);
  });

  test('issued commands run although nothing waits for them', async () => {
    const column = context.column(randomWords(4096, 5));
    const { submissions } = context.backend.counters;
    context.materialize(map(mixed, { x: column, y: column }));
    expect(context.backend.counters.submissions).toBe(submissions);
    await Promise.resolve();
    expect(context.backend.counters.submissions).toBe(submissions + 1);
  });

  test('fused commands that fail to compile are reported by the next call', async () => {
    const own = new Context(await createWorkersBackend({ workers: 2, inlineNanoseconds: 0, fusedRows: 64 }));
    const column = own.column(randomWords(4096, 6));
    await own.sync();
    const once = own.materialize(map(mixed, { x: column, y: column }));
    own.materialize(map(mixed, { x: once, y: column }));
    vi.spyOn(WebAssembly, 'Module').mockImplementation(Refused as never);
    await Promise.resolve();
    vi.restoreAllMocks();
    await expect(own.read(once)).rejects.toMatchObject({ code: 'functor/webassembly' });
    await own.close();
  });
});
