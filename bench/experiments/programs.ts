import type { Experiment } from '../harness/experiment.ts';
import type { Answer, BenchProgram, Case, Ready } from '../programs/program.ts';
import { PROGRAMS } from '../programs/programs.ts';

/** What a program is measured on. */
export interface ProgramInputs {
  readonly program: BenchProgram;
  readonly one: Case;
  /** Computes the answer in plain JavaScript; its memory is taken before the first call, and used by all. */
  plain(): Answer;
}

/**
 * The programs that authors compose, each kind of case as an experiment. A size is the number of points, or about that
 * of cells: those of the square grid that comes nearest.
 */
export const programExperiments: readonly Experiment<ProgramInputs, Ready>[] = PROGRAMS.flatMap((program) =>
  Object.entries(program.kinds).map(([kind, make], _, { length }) => ({
    name: length === 1 ? program.name : `${program.name}-${kind}`,
    types: [program.type],
    inputs({ n }) {
      const one = make(program.over === 'grid' ? Math.round(Math.sqrt(n)) : n);
      let made: (() => Answer) | undefined;
      const plain = (): Answer => {
        made ??= program.plain(one);
        return made();
      };
      return { program, one, plain };
    },
    upload: ({ one }, { context }) => program.quadrille(context, one),
    run: (ready) => ready.run(),
    reference: ({ one }) => program.plain(one)(),
    plain: (inputs) => inputs.plain(),
  })),
);
