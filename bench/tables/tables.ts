import * as t from '../../algorithms/tables/index.ts';
import { optionalPackage } from '../peers/optional.ts';
import { printHead } from '../shared/markdown-table.ts';
import { machine, timesOf } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { lineitem } from './lineitem.ts';
import { measureOnDevice } from './table-device.ts';
import { measurePrepared } from './table-prepared.ts';
import { type Question, questions } from './table-questions.ts';
import { shown } from './table-times.ts';

/**
 * Times queries over tables in memory, in this library and in DuckDB, without a warm-up. For each query, prints the
 * minimum and the median of the milliseconds from the call until the caller has the answer. DuckDB takes part only if
 * it is installed (70 MB), by this command: npm install --no-save @duckdb/node-api@1.5.6-r.1
 *
 * node --import tsx bench/tables/tables.ts [--rows 10000000] [--backend workers|webgpu] [--adapter hardware|software] [--workers 2]
 *   [--rounds 15] [--only median]
 *
 * With --prepared, times short queries over 2^20 rows instead, prepared and unprepared. With --device, on WebGPU, times
 * queries over 2^28 rows by the device's own clock; the columns are made on the device. Both options warm up the device
 * before each query.
 */
const options = programOptions({
  ...BACKEND_OPTIONS,
  ...{ rows: undefined, prepared: false, device: false, rounds: 15, only: '' },
});
const rows = Number(options.rows ?? (options.device ? 2 ** 28 : options.prepared ? 2 ** 20 : 1e7));
const { rounds } = options;

/** Pseudo-random numbers by Marsaglia's xorshift, 2003; the same in every run. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

function numbersTable(random: () => number): t.HostTable {
  const below = (end: number) => Int32Array.from({ length: rows }, () => Math.floor(random() * end));
  const column = (values: Int32Array) => ({ type: 'i32', values }) as const;
  const validity = Uint32Array.from({ length: Math.ceil(rows / 32) }, () => Math.floor(random() * 2 ** 32));
  const some = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, column(below(1_000_000))]));
  const nullable = Object.fromEntries(Object.entries(some).map(([name, each]) => [`${name}n`, { ...each, validity }]));
  const f = { type: 'f32', values: Float32Array.from({ length: rows }, () => random() * 1000) } as const;
  return { ...some, ...nullable, f, k: column(below(1000)), m: column(below(1_000_000)) };
}

interface DuckDb {
  run(sql: string): Promise<unknown>;
  /** Executes a query completely, and fetches all of its rows. */
  fetch(sql: string): Promise<void>;
}

async function openDuckDb(): Promise<DuckDb | undefined> {
  interface Connection {
    run(sql: string): Promise<{ fetchAllChunks(): Promise<unknown> }>;
  }
  interface Library {
    readonly DuckDBInstance: {
      create(path: string, config: object): Promise<{ connect(): Promise<Connection> }>;
    };
  }
  const found = await optionalPackage<Library>('@duckdb/node-api');
  if (found === undefined) return undefined;
  const instance = await found.library.DuckDBInstance.create(':memory:', { threads: String(options.workers) });
  const connection = await instance.connect();
  return {
    run: (sql) => connection.run(sql),
    fetch: async (sql) => {
      const result = await connection.run(sql);
      await result.fetchAllChunks();
    },
  };
}

/**
 * Makes tables in DuckDB whose values have the same distributions as in our tables. SQL makes the values in DuckDB,
 * because copying our tables would take longer than all queries.
 */
async function fillDuckDb({ run }: DuckDb): Promise<void> {
  const below = (end: number): string => `floor(random() * ${end})::integer`;
  const some = ['a', 'b', 'c', 'd'].map((name) => `${below(1_000_000)} as ${name}`).join(', ');
  await run(`create table plain as select range::integer as id, ${some}, (random() * 1000)::float as f,
    ${below(1000)} as k, ${below(1_000_000)} as m, random() < 0.5 as valid from range(${rows})`);
  const nullable = ['a', 'b', 'c', 'd'].map((name) => `case when valid then ${name} end as ${name}n`).join(', ');
  await run(`create table numbers as select * exclude (valid), ${nullable} from plain`);
  await run('drop table plain');
  await run(`create table lineitem as select units::decimal(15, 2) as l_quantity,
    (units * (90000 + (part // 10) % 20001 + 100 * (part % 1000)) / 100)::decimal(15, 2) as l_extendedprice,
    (floor(random() * 11) / 100)::decimal(15, 2) as l_discount, (floor(random() * 9) / 100)::decimal(15, 2) as l_tax,
    shipped as l_shipdate, case when shipped + days <= date '1995-06-17' then (case when random() < 0.5 then 'R' else 'A' end)
    else 'N' end as l_returnflag, case when shipped > date '1995-06-17' then 'O' else 'F' end as l_linestatus
    from (select 1 + floor(random() * 50)::integer as units, 1 + floor(random() * 200000)::integer as part,
    1 + floor(random() * 30)::integer as days,
    date '1992-01-01' + floor(random() * 2406)::integer + 1 + floor(random() * 121)::integer as shipped from range(${rows}))`);
}

const wanted = questions.filter(({ name }) => name.includes(options.only));
const context = await openNamed(options);
console.log(`${rows} rows, ${options.backend}, ${options.workers} threads; ${machine()}\n`);
if (options.prepared) await measurePrepared(context, rows, rounds, options.only);
else if (options.device) await measureOnDevice(context, rows, rounds, options.only);
else await compareWithDuckDb();
await context.close();

async function compareWithDuckDb(): Promise<void> {
  const random = randomFrom(1234567);
  const needs = (table: Question['table']): boolean => wanted.some((each) => each.table === table);
  const tables = {
    numbers: t.createTable(context, needs('numbers') ? numbersTable(random) : {}),
    lineitem: t.createTable(context, needs('lineitem') ? lineitem(rows, random) : {}),
  };
  const duckDb = await openDuckDb();
  if (duckDb !== undefined) await fillDuckDb(duckDb);
  printHead('query | ours, ms: min (median) | DuckDB, ms: min (median)');
  for (const { name, table, sql, ask } of wanted) {
    const ours = await timesOf(() => ask(tables[table]), { rounds, warmUps: 0 });
    const theirs = duckDb && (await timesOf(() => duckDb.fetch(sql), { rounds: Math.min(rounds, 7), warmUps: 0 }));
    console.log(`| ${name} | ${shown(ours)} | ${theirs === undefined ? '' : shown(theirs)} |`);
  }
}
