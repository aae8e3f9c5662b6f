import { Writable } from 'node:stream';
import { type Metric, recordOf } from '../../algorithms/neighbours/metrics.ts';
import type { HostColumn, HostTable } from '../../algorithms/tables/host-table.ts';
import { jsonLog } from '../../cli/json-log.ts';
import { runNeighbours } from '../../cli/neighbours.ts';
import { parseNeighboursArguments } from '../../cli/neighbours-arguments.ts';
import { type NeighbourIndex, neighbourIndex } from '../../cli/neighbours-index.ts';
import type { NeighboursParts } from '../../cli/neighbours-run.ts';
import { fieldsOfTable, type TableField, type TableFile } from '../../formats/index.ts';
import { rebatched } from '../../formats/tables/rebatch.ts';
import type { Context } from '../../primitives/context/context.ts';
import { exactOrder, isWithin, isWithinUlp } from '../support/exact-neighbours.ts';
import { type HostPoints, rowOf } from '../support/neighbours-by-hand.ts';

/** Tables in memory, by the path under which the command opens them. */
export type Tables = Readonly<Record<string, HostTable>>;

/** How tables and queries are divided into batches in a test. */
export interface Batches {
  /** Number of rows per batch of a file. */
  readonly rows?: number | undefined;
  /** Number of queries per batch of the search. */
  readonly queries?: number | undefined;
  /** Called before each batch of queries is searched, with the number of the batch. */
  readonly onSearch?: (batch: number) => void;
}

function tableFile(file: string, columns: HostTable, rowsPerBatch: number | undefined): TableFile {
  const fields: TableField[] = fieldsOfTable(columns);
  const [first] = Object.values(columns);
  const rows = first === undefined ? 0 : first.type === 'string' ? first.codes.length : first.values.length;
  return {
    ...{ file, format: 'arrow', fields, unread: [], notes: [], rows },
    batches({ columns: names = Object.keys(columns) } = {}) {
      const chosen = Object.fromEntries(names.map((name) => [name, columns[name]!]));
      async function* all() {
        yield { rows, columns: chosen };
      }
      return rebatched(all(), rowsPerBatch);
    },
    close: async () => undefined,
  };
}

/** A context that stays open for many runs of the command. */
interface Lent {
  readonly backend: { readonly name: string };
  abort(reason: unknown): void;
  close(): Promise<void>;
}

function partsOn(context: Context, tables: Tables, batches: Batches): NeighboursParts<Lent> {
  return {
    openPoints: async (path) => tableFile(path, tables[path]!, batches.rows),
    openContext: async () => ({ backend: context.backend, abort: () => undefined, close: async () => undefined }),
    async neighbourIndex(_, job): Promise<NeighbourIndex> {
      const index = await neighbourIndex(context, job);
      let batch = 0;
      return {
        ...index,
        maxQueries: Math.min(index.maxQueries, batches.queries ?? Number.POSITIVE_INFINITY),
        search(elements, own) {
          batches.onSearch?.(batch++);
          return index.search(elements, own);
        },
      };
    },
  };
}

/** One parsed line of the log. */
interface Told {
  readonly event: string;
  readonly code?: string;
  readonly message?: string;
  readonly count?: number;
}

/** The output and the log of a run of the command. */
export interface Ran {
  readonly stdout: Buffer;
  /** Returns the lines of the log for one kind of event, such as `note`. */
  told(event: string): readonly Told[];
}

/** Runs `quadrille neighbours points …` over tables in memory. */
export async function neighboursOf(
  context: Context,
  tables: Tables,
  words: readonly string[],
  batches: Batches = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<Ran> {
  const [printed, told]: [Buffer[], string[]] = [[], []];
  const stdout = new Writable({
    write(chunk, _, done) {
      printed.push(chunk);
      done();
    },
  });
  const log = jsonLog({ write: (text: string) => told.push(text) }, { quiet: false });
  const options = parseNeighboursArguments(['points', ...words]);
  await runNeighbours(options, partsOn(context, tables, batches), { log, stdout, signal, beforeExit: () => undefined });
  const events = told.map((line) => JSON.parse(line) as Told);
  return { stdout: Buffer.concat(printed), told: (event) => events.filter((each) => each.event === event) };
}

const AXES = ['x', 'y', 'z', 'u', 'v'];

/** Converts points to columns of f32. The names of the columns are those that {@link columnWords} selects. */
export function columnsOf({ elements, dimensions }: HostPoints): HostTable {
  const count = elements.length / dimensions;
  return Object.fromEntries(
    AXES.slice(0, dimensions).map((name, d) => [
      name,
      { type: 'f32', values: Float32Array.from({ length: count }, (_, i) => elements[i * dimensions + d]!) },
    ]),
  );
}

/** The command's arguments that select the columns of {@link columnsOf}. */
export function columnWords(dimensions: number): string[] {
  return ['--columns', AXES.slice(0, dimensions).join(',')];
}

/** A search whose expected result is computed by plain loops. */
export interface Question {
  readonly points: HostPoints;
  /** The query points; undefined if the points are also the queries. */
  readonly queries: HostPoints | undefined;
  readonly metric: Metric;
  readonly withSelf: boolean;
  readonly asked: { readonly k: number } | { readonly radius: number };
}

/** A row of the command's output. */
export type Row = readonly [query: number, id: number, distance: number];

/**
 * The expected rows of the command, computed by comparing every query with every point in real arithmetic. Points and
 * queries that are not finite are left out.
 */
export function answerByHand({ points, queries, metric, withSelf, asked }: Question): Pairing[] {
  const found: Pairing[] = [];
  const places = placesOf(points);
  for (const [query, place] of placesOf(queries ?? points)) {
    const order = exactOrder(metric, [...places.values()].map(numbersOf), numbersOf(place));
    const near = order
      .map((i) => [...places.keys()][i]!)
      .filter((id) => queries !== undefined || withSelf || id !== query)
      .filter((id) => 'k' in asked || isWithin(metric, numbersOf(place), numbersOf(places.get(id)!), asked.radius));
    for (const id of 'k' in asked ? near.slice(0, asked.k) : near) found.push([query, id]);
  }
  return found;
}

/** A query and one of its neighbours. */
export type Pairing = readonly [query: number, id: number];

const numbersOf = (place: Float32Array): number[] => [...place];

function placesOf(points: HostPoints): Map<number, Float32Array> {
  const all = Array.from({ length: points.elements.length / points.dimensions }, (_, i) => rowOf(points, i));
  return new Map([...all.entries()].filter(([, place]) => place.every(Number.isFinite)));
}

/** Whether the distance of a row is the real one, within one ulp where the metric is one of differences. */
export function isRight({ points, queries, metric }: Question, [query, id, distance]: Row): boolean {
  const [a, b] = [rowOf(queries ?? points, query), rowOf(points, id)];
  if (recordOf(metric).power !== undefined) return isWithinUlp(metric, numbersOf(a), numbersOf(b), distance);
  const dot = (x: Float32Array, y: Float32Array): number => x.reduce((sum, each, d) => sum + each * y[d]!, 0);
  const size = Math.sqrt(dot(a, a)) * Math.sqrt(dot(b, b));
  if (metric === 'inner') return Math.abs(distance + dot(a, b)) <= 1e-14 * size;
  return Math.abs(distance - (size === 0 ? 1 : 1 - dot(a, b) / size)) <= 1e-14;
}

/** Parses the rows of a CSV. Also checks that the ranks of every query are 1, 2 and so on. */
export function rowsOfCsv(csv: string): Row[] {
  const [header, ...lines] = csv.trimEnd().split('\n');
  const isRanked = header === 'query,rank,id,distance';
  if (!isRanked && header !== 'query,id,distance') throw new Error(`the header is ${header}`);
  let [last, rank] = [-1, 0];
  return lines.map((line) => {
    const [query, ...rest] = line.split(',').map(Number) as [number, ...number[]];
    rank = query === last ? rank + 1 : 1;
    last = query;
    if (isRanked && rest.shift() !== rank) throw new Error(`${line} is not of rank ${rank}`);
    return [query, rest[0]!, rest[1]!];
  });
}

/** A column of f64. */
export const f64 = (...values: number[]): HostColumn => ({ type: 'f64', values: Float64Array.from(values) });

/** A column of distinct strings. */
export const strings = (...dictionary: string[]): HostColumn => ({
  type: 'string',
  codes: Uint32Array.from(dictionary.keys()),
  dictionary,
});

/** Four points with names. */
export const square: HostTable = { x: f64(0, 3, 1, 5), y: f64(0, 4, 1, 5), name: strings('a', 'b', 'c', 'd') };
