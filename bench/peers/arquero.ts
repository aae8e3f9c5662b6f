import { builtInExperiments } from '../experiments/index.ts';
import { type Candidate, hostRound } from '../harness/candidate.ts';
import type { HostColumns } from '../harness/experiment.ts';
import type { Job } from '../harness/job.ts';
import { optionalPackage } from './optional.ts';

/** The members of the package `arquero` that are used here. */
interface Arquero {
  table(columns: HostColumns): Frame;
}

interface Frame {
  filter(expression: string): Frame;
  orderby(column: string): Frame;
  groupby(column: string): Frame;
  rollup(columns: Readonly<Record<string, string>>): Frame;
  /**
   * Copies the rows that `filter` selected, in the order that `orderby` set. These two methods do not copy any rows.
   */
  reify(): Frame;
  array(column: string, type: Uint32ArrayConstructor): Uint32Array;
}

interface Query {
  run(frame: Frame): Frame;
  readonly columns: readonly string[];
}

const sums: Query = { run: (frame) => frame.rollup({ s: 'op.sum(d.x)' }), columns: ['s'] };

/** Arquero queries for experiments over u32. Sums are computed in f64, and truncated to 32 bits when read. */
const QUERIES: Readonly<Record<string, Query>> = {
  reduce: sums,
  copyIf: { run: (frame) => frame.filter('(d.x & 1) === 1').reify(), columns: ['x'] },
  sort: { run: (frame) => frame.orderby('x').reify(), columns: ['x'] },
  sortByKey: { run: (frame) => frame.orderby('x').reify(), columns: ['x', 'order'] },
  reduceByKey: { run: (frame) => sums.run(frame.groupby('keys')), columns: ['keys', 's'] },
};

/** Maximum number of elements of `reduce`: sums of more elements could exceed 2⁵³ and lose precision. */
const MAX_SUMMED = 2 ** 21;

/** Arquero, which computes in JavaScript on this thread; undefined if the package `arquero` is not installed. */
export async function arqueroPeer(): Promise<Candidate | undefined> {
  const found = await optionalPackage<Arquero>('arquero');
  if (found === undefined) return undefined;
  return {
    name: 'arquero',
    kind: 'peer',
    hardware: 'cpu',
    description: `arquero ${found.version}, on one thread`,
    async prepare(job) {
      const query = queryFor(job);
      if (query === undefined) return undefined;
      const frame = found.library.table(job.inputs);
      return {
        async answer() {
          const result = query.run(frame);
          return query.columns.map((name) => Uint32Array.from(result.array(name, Float64Array as never)));
        },
        round: (calls) => hostRound(() => query.run(frame), calls),
        close: async () => undefined,
      };
    },
    close: async () => undefined,
  };
}

function queryFor({ experiment, type, n }: Job): Query | undefined {
  const known = builtInExperiments.includes(experiment) && type === 'u32' && n > 0;
  return known && !(experiment.name === 'reduce' && n > MAX_SUMMED) ? QUERIES[experiment.name] : undefined;
}
