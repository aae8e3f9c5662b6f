import { describe, expect, test } from 'vitest';
import { type Answer, answerOf } from '../../bench/programs/program.ts';
import { PROGRAMS } from '../../bench/programs/programs.ts';
import { onEveryBackend } from '../backends.ts';

/** Cells along each side of grids, or points. Not a multiple of a vector or a word. */
const SIZE = 45;

describe('programs that authors compose', () => {
  onEveryBackend((opened) => {
    test.each(PROGRAMS.map((program) => [program.name, program] as const))(
      'answer what plain JavaScript answers: %s',
      async (_, program) => {
        for await (const one of program.cases(SIZE)) {
          const expected = program.plain(one)();
          const { context } = opened();
          const run = await program.quadrille(context, one);
          const got = await context.read(await answerOf(context, program, run));
          for (const [name, array] of Object.entries(expected)) {
            expect((got as unknown as Answer)[name], `${one.name}: ${name}`).toEqual(array);
          }
        }
      },
    );
  });
});
