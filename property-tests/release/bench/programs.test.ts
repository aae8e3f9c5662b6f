import { describe, expect } from 'vitest';
import { evenPoints, type Points } from '../../../bench/programs/points.ts';
import { type Answer, answerOf, type BenchProgram, type Case } from '../../../bench/programs/program.ts';
import { PROGRAMS } from '../../../bench/programs/programs.ts';
import type { Context } from '../../../primitives/context/context.ts';
import { onEveryBackend } from '../../backends.ts';
import { scaledCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

/** Cells along each side of grids, or points. Not a multiple of a vector or a word. */
const SIZE = 45;

const OVER_POINTS = PROGRAMS.filter(({ ofPoints }) => ofPoints !== undefined);

/** Numbers that repeat, that lie on borders of cells, or any others. Squares of their differences are normal f32 numbers. */
const part = fc.oneof(
  fc.constantFrom(0, 0.25, 0.5, 1 - 2 ** -24, 1 - 2 ** -53),
  fc.nat({ max: 15 }).map((k) => k / 16),
  fc.nat({ max: 8 }).map((k) => k / 9),
  fc.nat({ max: 2 ** 24 - 1 }).map((k) => k / 2 ** 24),
);

/** Points anywhere, on a line, or few places with many points. */
const points: fc.Arbitrary<Points> = fc
  .record({
    places: fc.array(fc.tuple(part, part), { minLength: 1, maxLength: 80, size: 'max' }),
    times: fc.constantFrom(0, 1, 1, 1, 3, 40),
    shape: fc.constantFrom('plane', 'plane', 'row', 'column', 'diagonal'),
  })
  .map(({ places, times, shape }) => {
    const [[x, y]] = places as [[number, number]];
    const placed = places.map(([u, v]) =>
      shape === 'row' ? [u, y] : shape === 'column' ? [x, v] : [u, shape === 'diagonal' ? u : v],
    );
    const all = Array.from({ length: times }, () => placed).flat() as [number, number][];
    return { x: Float64Array.from(all, ([u]) => u), y: Float64Array.from(all, ([, v]) => v) };
  });

const NO_POINTS: Points = { x: new Float64Array(), y: new Float64Array() };
/** Enough for what hundreds of cells of a grid have in common to matter. */
const MANY_POINTS: Points = evenPoints(300);
const ONE_POINT: Points = { x: Float64Array.of(0.5), y: Float64Array.of(0) };

async function expectPlain(context: Context, program: BenchProgram, one: Case): Promise<void> {
  const expected = program.plain(one)();
  const { held, run } = await program.quadrille(context, one);
  const answer = await answerOf(context, program, run);
  const got = await context.read(answer);
  context.dispose(held, answer);
  for (const [name, array] of Object.entries(expected)) {
    expect((got as unknown as Answer)[name], name).toEqual(array);
  }
}

describe('programs that authors compose', () => {
  onEveryBackend((opened, { runs }) => {
    test.each(PROGRAMS.map((program) => [program.name, program] as const))(
      'answer what plain JavaScript answers: %s',
      async (_, program) => {
        for (const make of Object.values(program.kinds)) await expectPlain(opened().context, program, make(SIZE));
      },
    );
    for (const program of OVER_POINTS) {
      test.prop([points], { numRuns: scaledCount(runs, 2, 3), examples: [[NO_POINTS], [ONE_POINT], [MANY_POINTS]] })(
        `answer what plain JavaScript answers for any points: ${program.name}`,
        async (some) => expectPlain(opened().context, program, program.ofPoints!(some)),
      );
    }
  });
});
