import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/backend.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { hasWideRows } from '../../../backends/workers/kernels/rows/grid-rows.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import { array, type FunctorDescription, fn, u32, uniform } from '../../../primitives/functors/functor.ts';
import { select } from '../../../primitives/functors/standard/choose.ts';
import type { Bool, U32 } from '../../../primitives/functors/value.ts';
import { THOROUGH } from '../../cases.ts';
import { bind, randomWords, upload } from '../../support/workers-programs.ts';

/**
 * The backends on which these tests run. The tests are about programs that divide the index of a cell by the width of a
 * grid. If the rows of the grid are wide, workers run such programs row by row.
 */

const backends: { readonly name: string; readonly backend: Backend }[] = [];
let reference: Backend;

beforeAll(async () => {
  reference = createReferenceBackend();
  backends.push({
    name: 'one',
    backend: await createWorkersBackend({ workers: 1, inlineNanoseconds: Number.POSITIVE_INFINITY }),
  });
  backends.push({ name: 'three', backend: await createWorkersBackend({ workers: 3, inlineNanoseconds: 0 }) });
});

afterAll(async () => {
  for (const { backend } of backends) await backend.close();
});

/** The row and the column of a cell, and the width of the grid, as values of a program. */
interface Place {
  readonly column: U32;
  readonly row: U32;
  readonly width: U32;
}

const comparisons = ['lt', 'le', 'gt', 'ge'] as const;
type Comparison = (typeof comparisons)[number];

/** Numbers that depend on a cell's position; some are distances to the end of its row. */
const along: { readonly [name: string]: (place: Place) => U32 } = {
  column: ({ column }) => column,
  room: ({ column, width }) => width.sub(1).sub(column),
  rest: ({ column, width }) => width.sub(column),
  further: ({ column, width }) => width.sub(3).sub(column),
  row: ({ row }) => row,
};

const limit = fc.oneof(fc.integer({ min: 0, max: 70 }), fc.constantFrom(1000, 2 ** 32 - 1));

/**
 * A comparison, a minimum or a maximum of two numbers: a number from `along`, and a limit, which may be counted from
 * the end of the row.
 */
const question = fc.record({
  of: fc.constantFrom(...Object.keys(along)),
  how: fc.constantFrom<(Comparison | 'min' | 'max')[]>(...comparisons, 'min', 'max'),
  limit,
  isLeft: fc.boolean(),
  isFromEnd: fc.boolean(),
});
type Question = typeof question extends fc.Arbitrary<infer Q> ? Q : never;

function ask({ of, how, limit, isLeft, isFromEnd }: Question, place: Place): U32 {
  const number = along[of]!(place);
  const other = isFromEnd ? place.width.sub(limit) : u32(limit);
  const [a, b] = isLeft ? [other, number] : [number, other];
  if (how === 'min' || how === 'max') return a[how](b);
  return u32(a[how](b) as Bool);
}

const program = fc.record({
  questions: fc.array(question, { maxLength: 3 }),
  reads: fc.array(fc.tuple(fc.integer({ min: -2, max: 2 }), fc.integer({ min: -3, max: 3 })), { maxLength: 3 }),
  form: fc.constantFrom('quotient', 'remainder', 'one row'),
  isKnown: fc.boolean(),
});
type Sketch = typeof program extends fc.Arbitrary<infer S> ? S : never;

/**
 * A functor of a cell with two results. The first combines the results of all `questions` (comparisons, minima and
 * maxima). The second combines elements at offsets from the cell, which may be out of range.
 */
function functorOf({ questions, reads, form, isKnown }: Sketch, known: number): FunctorDescription {
  return fn('cell', { i: u32, xs: array(u32), size: uniform(u32) }, { sum: u32, near: u32 }, ({ i, xs, size }) => {
    const width = isKnown ? u32(known) : size;
    const row = form === 'one row' ? u32(0) : i.div(width);
    const column = form === 'one row' ? i : form === 'remainder' ? i.rem(width) : i.sub(row.mul(width));
    const place = { column, row, width };
    const answers = questions.map((each) => ask(each, place));
    const near = reads.map(([dy, dx]) => xs.at(row.add(dy).mul(width).add(column.add(dx))));
    const sum = (words: readonly U32[], from: U32): U32 =>
      words.reduce((all, word, k) => all.mul(3).add(word).add(k), from);
    return { sum: sum(answers, select(row, column, i.and(1).eq(0))), near: sum(near, i) };
  });
}

async function run(backend: Backend, sketch: Sketch, width: number, length: number): Promise<readonly Uint32Array[]> {
  const { module } = functorOf(sketch, width);
  const words = randomWords(length + 5, width);
  const bound = bind(backend, module, { xs: { words, length: words.length } }, { size: width });
  const results = [0, 1].map(() => upload(backend, new Uint32Array(length).fill(7)));
  const stores = results.map((buffer, value) => ({ buffer, offset: 0, capacity: length, value }));
  backend.run({ kind: 'forEach', extent: length, program: bound, stores });
  return Promise.all(results.map((buffer) => backend.read(buffer, 0, length)));
}

/** Widths around the minimum at which workers run a program row by row, and extreme widths. */
const widths = fc.oneof(
  { arbitrary: fc.integer({ min: 60, max: 210 }), weight: 5 },
  { arbitrary: fc.constantFrom(1, 2, 1024, 4096, 65_537, 2 ** 31, 2 ** 32 - 1), weight: 2 },
);
/** Numbers of cells for which a row of the grid ends within a chunk, or a chunk within a row. */
const lengths = fc.oneof(fc.integer({ min: 0, max: 3000 }), fc.constantFrom(65_535, 65_537, 140_001));

const cases = THOROUGH ? 150 : 30;

describe('programs over the cells of a grid', () => {
  test('give every cell the result of the reference', async () => {
    let wide = 0;
    await fc.assert(
      fc.asyncProperty(program, widths, lengths, async (sketch, width, length) => {
        const expected = await run(reference, sketch, width, length);
        const { module } = functorOf(sketch, width);
        wide += Number(hasWideRows({ module, arrays: new Map(), uniforms: new Map([['size', width]]) }));
        for (const { name, backend } of backends) {
          const got = await run(backend, sketch, width, length);
          expected.forEach((words, k) => {
            const differing = words.findIndex((word, i) => word !== got[k]![i]);
            expect({ name, differing }).toEqual({ name, differing: -1 });
          });
        }
      }),
      { numRuns: cases },
    );
    expect(wide).toBeGreaterThan((20 * cases) / 150);
  });

  test('run as one row in a grid of one row when that vectorizes better', () => {
    const line = { i: u32, xs: array(u32), width: uniform(u32) };
    const ends = fn('ends', line, u32, ({ i, xs, width }) =>
      xs.at(i.max(1).sub(1)).add(xs.at(i.add(width.sub(1).sub(i).min(2)))),
    );
    expect([66, 67].map((width) => rowsOf(ends, width))).toEqual([false, true]);
    const plain = fn('plain', line, u32, ({ i, xs, width }) => xs.at(i).add(i.min(width)));
    const anywhere = fn('anywhere', line, u32, ({ i, xs, width }) => xs.at(i.mul(width)));
    for (const functor of [plain, anywhere]) expect(rowsOf(functor, 4096)).toBe(false);
  });

  const rowsOf = (functor: { readonly module: FunctorDescription['module'] }, width: number): boolean =>
    hasWideRows({ module: functor.module, arrays: new Map(), uniforms: new Map([['width', width]]) });

  test('run row by row when rows are wide and every operation vectorizes', () => {
    const cell = { i: u32, xs: array(u32), width: uniform(u32) };
    const below = fn('below', cell, u32, ({ i, xs, width }) => xs.at(i.div(width).add(1).mul(width).add(i.rem(width))));
    expect([63, 64, 65, 2 ** 32 - 1].map((width) => rowsOf(below, width))).toEqual([false, true, true, true]);
    const left = fn('left', cell, u32, ({ i, xs, width }) => {
      const column = i.rem(width);
      return xs.at(i.sub(column).add(column.max(1).sub(1)));
    });
    expect([64, 65].map((width) => rowsOf(left, width))).toEqual([false, true]);
    const across = fn('across', cell, u32, ({ i, xs, width }) => xs.at(i.rem(width).mul(width).add(i.div(width))));
    const twice = fn('twice', cell, u32, ({ i, width }) => i.div(width).add(i.div(100)));
    const far = fn('far', cell, u32, ({ i, xs, width }) => xs.at(i.rem(width).max(65)));
    for (const functor of [across, twice, far]) expect(rowsOf(functor, 4096)).toBe(false);
  });
});
