import type { HostColumn, HostTable } from '../algorithms/tables/host-table.ts';
import { type Chunk, regroup } from '../formats/tables/rebatch.ts';
import type { TableField } from '../formats/tables/table-file.ts';
import { columnAt } from './gather-rows.ts';
import type { AnsweredBatch } from './neighbours-graph.ts';
import { type DistanceFigures, distanceTally } from './neighbours-tally.ts';
import { headedWrite, type WriteOutput } from './run-support.ts';
import { rowsWriterOf, type TableFormat } from './table-files.ts';

/** Receives neighbours in the order of the queries, and writes them in the form that the command line requests. */
export interface NeighbourSink {
  add(answered: AnsweredBatch): Promise<void>;
  /** Writes the rows of the last, incomplete chunk, and ends the table. */
  end(): Promise<void>;
  figures(): NeighbourFigures;
}

export interface NeighbourFigures {
  readonly queries: number;
  /** Number of queries without any neighbour. */
  readonly alone: number;
  readonly rows: number;
  readonly distances: DistanceFigures;
}

/** The names of points and queries in the table of neighbours, and where to write the table. */
export interface SinkOptions {
  /** Whether the table has a column `rank`. */
  readonly isRanked: boolean;
  readonly format: TableFormat;
  readonly quoteFormulas: boolean;
  /** For each point, its row number in the file. */
  readonly pointRows: Uint32Array;
  /** Names of the points; undefined if points are named by row numbers. */
  readonly pointNames: HostColumn | undefined;
  /** Input column with the names of the points; undefined if points are named by row numbers. */
  readonly pointField: TableField | undefined;
  /** Input column with the names of the queries; undefined if queries are named by row numbers. */
  readonly queryField: TableField | undefined;
  /** Path of the table; undefined if it is not written and rows are only counted. */
  readonly out: string | undefined;
  readonly write: WriteOutput;
}

/** Number of rows in a chunk of output. It is fixed, so that the bytes of the output do not depend on the batches. */
const CHUNK_ROWS = 2 ** 16;

/** Opens the table of neighbours for writing. */
export async function neighbourSink(options: SinkOptions): Promise<NeighbourSink> {
  const { out, write } = options;
  const fields = fieldsOf(options);
  const writer = out === undefined ? undefined : await rowsWriterOf(options, fields);
  const tally = distanceTally();
  const totals = { queries: 0, alone: 0, rows: 0 };
  const append = writer && (await headedWrite(write, out!, () => writer.begin()));
  const chunks = regroup(CHUNK_ROWS);
  return {
    async add(answered) {
      const { batch, found } = answered;
      for (let query = 0; query < batch.count; query++) {
        if (found.offsets[query] === found.offsets[query + 1]) totals.alone++;
      }
      if (writer !== undefined) {
        for (const rows of chunks.add(rowsOf(answered, options))) await append!(writer.add(rows));
      }
      tally.add(found.distances);
      totals.queries += batch.count;
      totals.rows += found.ids.length;
    },
    async end() {
      for (const rows of chunks.rest()) await append!(writer!.add(rows));
      await append?.(writer!.end());
    },
    figures: () => ({ ...totals, distances: tally.figures() }),
  };
}

function fieldsOf({ isRanked, pointField, queryField }: SinkOptions): TableField[] {
  const named = (name: string, field: TableField | undefined): TableField =>
    field === undefined ? { name, type: 'u32', nullable: false } : { ...field, name };
  return [
    named('query', queryField),
    ...(isRanked ? [{ name: 'rank', type: 'u32', nullable: false } as const] : []),
    named('id', pointField),
    { name: 'distance', type: 'f64', nullable: false },
  ];
}

function rowsOf({ batch, found }: AnsweredBatch, { isRanked, pointRows, pointNames }: SinkOptions): Chunk {
  const rows = found.ids.length;
  const [queries, ranks] = [new Uint32Array(rows), new Uint32Array(rows)];
  for (let query = 0; query < batch.count; query++) {
    const [from, to] = [found.offsets[query]!, found.offsets[query + 1]!];
    queries.fill(batch.names === undefined ? batch.rows[query]! : batch.firstName + query, from, to);
    for (let row = from; row < to; row++) ranks[row] = row - from + 1;
  }
  const plain = (values: Uint32Array): HostColumn => ({ type: 'u32', values });
  const columns: HostTable = {
    query: batch.names === undefined ? plain(queries) : columnAt(batch.names, queries),
    ...(isRanked ? { rank: plain(ranks) } : {}),
    id: pointNames === undefined ? plain(found.ids.map((id) => pointRows[id]!)) : columnAt(pointNames, found.ids),
    distance: { type: 'f64', values: found.distances },
  };
  return { rows, columns };
}
