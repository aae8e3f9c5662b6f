import { textColumnOf } from '../algorithms/text-column.ts';
import type { CompareColumn, CompareRows, TableWriter } from '../formats/results/compare-tables.ts';
import type { MaqFile } from '../formats/results/maq-file.ts';
import { compareWriter } from './compare-outputs.ts';
import type { Answers } from './index-ask.ts';
import type { QueryKind, QueryOptions } from './index-query-arguments.ts';

/** Writes the answers to queries in the form that the command line requests. */
export interface AnswerSink {
  add(answers: Answers): Promise<void>;
  /** Writes the rows that depend on the answers to all queries, and ends the output. */
  end(): Promise<void>;
  readonly totals: AnswerTotals;
}

export interface AnswerTotals {
  readonly queries: number;
  /** Number of queries for which at least one polygon was found. */
  readonly met: number;
  /** Number of pairs of a query and a polygon that was found for it. */
  readonly pairs: number;
}

/** For each kind of query, the name of the output column that identifies a query. */
const QUERY_COLUMNS: Readonly<Record<QueryKind, string>> = { points: 'point', windows: 'window', polygons: 'query' };

/** Number of rows to write at once. */
const CHUNK_ROWS = 2 ** 16;

/**
 * Opens the output. The header is written together with the first answers, because the first answers determine the
 * columns.
 */
export function answerSink(
  {
    kind,
    format,
    quoteFormulas,
    count,
    above,
  }: Pick<QueryOptions, 'kind' | 'format' | 'quoteFormulas' | 'count' | 'above'>,
  file: MaqFile,
  write: (chunk: string | Uint8Array) => Promise<void>,
): AnswerSink {
  const polygons = polygonsOf(file);
  const totals = { queries: 0, met: 0, pairs: 0 };
  const queriesOf = new Float64Array(count === 'polygon' ? polygons.starts.at(-1)! : 0);
  let writer: TableWriter | undefined;

  const writeTable = async (table: CompareRows): Promise<void> => {
    if (writer === undefined) {
      writer = await compareWriter(format, withoutRows(table), { quoteFormulas });
      await write(writer.begin());
    }
    for (let from = 0; from < table.rows; from += CHUNK_ROWS) {
      await write(writer.add(someRows(table, from, Math.min(table.rows, from + CHUNK_ROWS))));
    }
    if (table.rows === 0) await write(writer.add(table));
  };
  return {
    totals,
    async add(answers) {
      const { batch, query, set, polygon } = answers;
      const perQuery = new Float64Array(batch.count);
      for (const each of query) perQuery[each]!++;
      totals.queries += batch.count;
      totals.met += perQuery.reduce((sum, found) => sum + (found > 0 ? 1 : 0), 0);
      totals.pairs += query.length;
      if (count === 'polygon') {
        for (let row = 0; row < set.length; row++) queriesOf[polygons.starts[set[row]!]! + polygon[row]!]!++;
      } else if (count === 'query') {
        const all = Uint32Array.from(perQuery, (_, each) => each);
        const columns = [queryColumn(kind, batch, all), ['count', { type: 'count', values: perQuery }] as const];
        await writeTable({ rows: batch.count, columns });
      } else await writeTable(pairRows(kind, answers, polygons, above !== undefined));
    },
    async end() {
      if (count === 'polygon') await writeTable(polygonRows(polygons, queriesOf));
      if (writer !== undefined) await write(writer.end());
    },
  };
}

type Texts = Extract<CompareColumn, { readonly type: 'text' }>['texts'];

/** The polygons of all sets of a tree, numbered consecutively. */
interface TreePolygons {
  /** Number of the first polygon in each set, followed by the total number of polygons. */
  readonly starts: readonly number[];
  readonly setNames: Texts;
  readonly names: Texts;
}

function polygonsOf({ sets }: MaqFile): TreePolygons {
  const starts = [0];
  for (const { names } of sets) starts.push(starts.at(-1)! + names.length);
  return {
    starts,
    setNames: textColumnOf(sets.map(({ name }) => name)),
    names: textColumnOf(sets.flatMap(({ names }) => names)),
  };
}

function queryColumn(
  kind: QueryKind,
  { first, names, numbers }: Answers['batch'],
  query: Uint32Array,
): readonly [name: string, column: CompareColumn] {
  const column: CompareColumn =
    names === undefined
      ? { type: 'count', values: Float64Array.from(query, (each) => numbers?.[each] ?? first + each) }
      : { type: 'text', texts: textColumnOf(names), rows: query };
  return [QUERY_COLUMNS[kind], column];
}

function pairRows(
  kind: QueryKind,
  { batch, query, set, polygon, areas }: Answers,
  { starts, setNames, names }: TreePolygons,
  tellsSure: boolean,
): CompareRows {
  const rows = polygon.map((each, row) => starts[set[row]!]! + each);
  return {
    rows: query.length,
    columns: [
      queryColumn(kind, batch, query),
      ['set', { type: 'text', texts: setNames, rows: set }],
      ['polygon', { type: 'text', texts: names, rows }],
      ...(areas === undefined
        ? []
        : [
            ['min', { type: 'ratio', values: areas.min }] as const,
            ['max', { type: 'ratio', values: areas.max }] as const,
          ]),
      ...(areas === undefined || !tellsSure ? [] : [['sure', { type: 'flag', values: areas.sure }] as const]),
    ],
  };
}

function polygonRows({ starts, setNames, names }: TreePolygons, counts: Float64Array): CompareRows {
  const sets = new Uint32Array(counts.length);
  for (let set = 0; set < starts.length - 1; set++) sets.fill(set, starts[set], starts[set + 1]);
  return {
    rows: counts.length,
    columns: [
      ['set', { type: 'text', texts: setNames, rows: sets }],
      ['polygon', { type: 'text', texts: names, rows: Uint32Array.from(counts, (_, each) => each) }],
      ['count', { type: 'count', values: counts }],
    ],
  };
}

function withoutRows(table: CompareRows): CompareRows {
  return someRows(table, 0, 0);
}

function someRows({ columns }: CompareRows, from: number, to: number): CompareRows {
  return { rows: to - from, columns: columns.map(([name, column]) => [name, someOf(column, from, to)]) };
}

function someOf(column: CompareColumn, from: number, to: number): CompareColumn {
  if (column.type === 'text') return { ...column, rows: column.rows.subarray(from, to) };
  return { ...column, values: column.values.subarray(from, to) } as CompareColumn;
}
