import { builtInExperiments } from '../experiments/index.ts';
import { type Candidate, hostRound } from '../harness/candidate.ts';
import type { Job } from '../harness/job.ts';
import { optionalPackage } from './optional.ts';

/** The members of the package `@duckdb/node-api` that are used here. */
interface DuckDb {
  readonly DuckDBInstance: { create(path: string): Promise<{ connect(): Promise<Connection>; closeSync(): void }> };
}

interface Connection {
  run(sql: string): Promise<unknown>;
  runAndReadAll(sql: string): Promise<{
    columnNames(): readonly string[];
    getColumns(): readonly (readonly (number | bigint)[])[];
  }>;
  closeSync(): void;
}

/** SQL expressions for the steps of the function `hashed` in `experiments/inputs.ts`. */
const HASH_STEPS = [
  'xor(i, i >> 16)',
  '(x * 2146121005) & 4294967295',
  'xor(x, x >> 15)',
  '(x * 2221713035) & 4294967295',
  'xor(x, x >> 16)',
];

/** SQL for experiments over u32, on a table t(i, x) that is ordered by i. Sums are modulo 2³². */
const QUERIES: Readonly<Record<string, string>> = {
  map: 'SELECT ((x::UBIGINT * 2654435761 + 1) & 4294967295)::UINTEGER AS y FROM t',
  reduce: 'SELECT (sum(x) % 4294967296)::UINTEGER AS s FROM t',
  scan: 'SELECT (coalesce(sum(x) OVER (ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) % 4294967296)::UINTEGER AS s FROM t ORDER BY i',
  copyIf: 'SELECT x FROM t WHERE (x & 1) = 1',
  sort: 'SELECT x FROM t ORDER BY x',
  sortByKey: 'SELECT x, i FROM t ORDER BY x',
  reduceByKey: 'SELECT (i >> 4)::UINTEGER AS k, (sum(i) % 4294967296)::UINTEGER AS s FROM t GROUP BY k ORDER BY k',
};

/**
 * DuckDB with tables in memory, on all its threads; results are stored as tables. Undefined if the package
 * `@duckdb/node-api` is not installed.
 */
export async function duckDbPeer(): Promise<Candidate | undefined> {
  const found = await optionalPackage<DuckDb>('@duckdb/node-api');
  if (found === undefined) return undefined;
  const instance = await found.library.DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  return {
    name: 'duckdb',
    kind: 'peer',
    hardware: 'cpu',
    description: `DuckDB, @duckdb/node-api ${found.version}, in memory, on all threads`,
    async prepare(job) {
      const query = queryFor(job);
      if (query === undefined) return undefined;
      await connection.run(tableOf(job.n));
      const store = `CREATE OR REPLACE TEMP TABLE result AS ${query}`;
      return {
        async answer() {
          await connection.run(store);
          const result = await connection.runAndReadAll('SELECT * FROM result');
          const columns = result.getColumns();
          // A result without rows has no arrays of columns, so empty arrays are used.
          return result.columnNames().map((_, i) => Uint32Array.from(columns[i] ?? [], Number));
        },
        round: (calls) => hostRound(() => connection.run(store), calls),
        async close() {
          await connection.run('DROP TABLE IF EXISTS result');
          await connection.run('DROP TABLE IF EXISTS t');
        },
      };
    },
    async close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

function queryFor({ experiment, type, n }: Job): string | undefined {
  return builtInExperiments.includes(experiment) && type === 'u32' && n > 0 ? QUERIES[experiment.name] : undefined;
}

function tableOf(n: number): string {
  const rows = `SELECT range::UBIGINT AS i, range::UBIGINT AS x FROM range(${n})`;
  const hashed = HASH_STEPS.reduce((from, step) => `SELECT i, ${step} AS x FROM (${from})`, rows);
  return `CREATE OR REPLACE TABLE t AS SELECT i::UINTEGER AS i, x::UINTEGER AS x FROM (${hashed}) ORDER BY i`;
}
