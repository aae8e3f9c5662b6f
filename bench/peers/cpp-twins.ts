import { type ProgramInputs, programExperiments } from '../experiments/programs.ts';
import type { Prepared } from '../harness/candidate.ts';
import { checksum, type Job } from '../harness/job.ts';
import { type CompiledCpp, compileCpp } from '../programs/cpp.ts';

/** The programs of `bench/programs` in C++. Each is compiled when it is first prepared, and runs in a process of its own. */
export interface CppTwins {
  /** Undefined for an experiment that has no twin in C++. */
  prepare(job: Job, threads: number): Promise<Prepared | undefined>;
  close(): Promise<void>;
}

export function cppTwins(): CppTwins {
  const compiled = new Map<string, Promise<CompiledCpp | undefined>>();
  const experiments: ReadonlySet<unknown> = new Set(programExperiments);
  return {
    async prepare({ experiment, inputs }, threads) {
      if (!experiments.has(experiment)) return undefined;
      const { program, one } = inputs as unknown as ProgramInputs;
      if (program.cpp === undefined) return undefined;
      if (!compiled.has(program.cpp)) compiled.set(program.cpp, compileCpp(program.cpp));
      const twin = await compiled.get(program.cpp);
      const running = await twin?.start(one, threads);
      return (
        running && {
          // A program writes its answer when it ends, so another one than that which is timed.
          async answer() {
            await using other = await twin!.start(one, threads);
            await other.run();
            return checksum((await other.end()).map(wordsOf));
          },
          async round(calls) {
            let seconds = 0;
            for (let call = 0; call < calls; call++) seconds += (await running.run()).wall;
            return { time: (seconds * 1e9) / calls, clock: 'host' };
          },
          close: async () => running[Symbol.asyncDispose](),
        }
      );
    },
    async close() {
      for (const each of compiled.values()) await (await each.catch(() => undefined))?.[Symbol.asyncDispose]();
    },
  };
}

/** A copy of the bytes of an answer, as words. The bytes may begin anywhere in their buffer. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(new Uint8Array(bytes).buffer);
}
