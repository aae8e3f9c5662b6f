import { Writable } from 'node:stream';
import fc from 'fast-check';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { jsonLog } from '../../cli/json-log.ts';
import { tableParts } from '../../cli/parts.ts';
import { runTable } from '../../cli/table.ts';
import { parseTableArguments } from '../../cli/table-arguments.ts';
import { openTable, writeTable } from '../../formats/index.ts';
import type { Context } from '../../primitives/context/context.ts';
import { type Cell, fileOf, newPath, tableOf, type Written } from '../support/table-files-support.ts';

/** How a file is divided into batches, and a way to stop the run. */
export interface Parts {
  readonly rowsPerBatch?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called before each batch is read, with the number of the batch. */
  readonly onPart?: (part: number) => void;
}

export interface TableEnding {
  readonly stdout: Buffer;
  /** The parsed lines of the log. */
  readonly log: readonly { readonly [field: string]: unknown }[];
}

/** Runs the command on an open context. */
export async function tableAnswer(
  context: Context,
  words: readonly string[],
  { rowsPerBatch, signal = new AbortController().signal, onPart }: Parts = {},
): Promise<TableEnding> {
  const [stdout, stderr] = [collector(), collector()];
  const lent = { backend: context.backend, context, abort: () => undefined, close: async () => undefined };
  await runTable<typeof lent>(
    parseTableArguments(words),
    {
      async openTable(path, _, csv) {
        const file = await openTable(path, csv);
        return {
          ...file,
          async *batches(options) {
            let part = 0;
            for await (const batch of file.batches({
              ...options,
              rowsPerBatch: rowsPerBatch ?? options?.rowsPerBatch,
            })) {
              onPart?.(part++);
              yield batch;
            }
          },
        };
      },
      openContext: async () => lent,
      loadSession: async () => {
        const openSession = await tableParts.loadSession();
        return (_, question, options) => openSession(context, question, options);
      },
    },
    { log: jsonLog(stderr.stream, { quiet: false }), stdout: stdout.stream, signal, beforeExit: () => undefined },
  );
  const lines = stderr.bytes().toString().trimEnd().split('\n');
  return { stdout: stdout.bytes(), log: lines.map((line) => JSON.parse(line)) };
}

function collector(): { readonly stream: Writable; readonly bytes: () => Buffer } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk, _, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  return { stream, bytes: () => Buffer.concat(chunks) };
}

/** A row of the test tables. Fares and tips are multiples of an eighth, so that their sums are exact. */
export interface Ride {
  readonly zone: string | null;
  readonly hour: number | null;
  readonly fare: number | null;
  readonly tip: number | null;
  readonly card: boolean | null;
}

const orNull = <A>(some: fc.Arbitrary<A>): fc.Arbitrary<A | null> => fc.option(some, { freq: 4 });
const eighths = fc
  .oneof(fc.integer({ min: -80, max: 80 }), fc.constantFrom(2 ** 40, -1, 0))
  .map((each) => each / 8 + 0);

/** Rides (rows). The first has a value in every column, because the types of a CSV follow from its first rows. */
export const someRides: fc.Arbitrary<readonly Ride[]> = fc
  .array(
    fc.record({
      zone: orNull(fc.constantFrom('a', 'b', 'c d', 'é', '\u{1f600}', '\uffff', 'x,"y"')),
      hour: orNull(fc.integer({ min: -3, max: 12 })),
      fare: orNull(eighths),
      tip: orNull(fc.oneof(fc.integer({ min: -4, max: 4 }), fc.constantFrom(70_000, -(2 ** 31), 2 ** 31 - 1))),
      card: orNull(fc.boolean()),
    }),
    { maxLength: 70, size: 'max' },
  )
  .map((rides) => [{ zone: 'a', hour: 1, fare: 0.5, tip: 3, card: true }, ...rides]);

const columnsOf = (rides: readonly Ride[], types: { readonly [name: string]: string }): Written[] =>
  Object.entries(types).map(([name, type]) => ({
    field: { name, type, nullable: true } as Written['field'],
    cells: rides.map((ride): Cell => cellOf(ride[name as keyof Ride], type)),
  }));

function cellOf(value: Ride[keyof Ride], type: string): Cell {
  if (typeof value === 'boolean') return Number(value);
  return type === 'i64' && typeof value === 'number' ? BigInt(value) : value;
}

export const FORMATS = ['parquet', 'arrow', 'csv'] as const;

/** Writes rides (rows) to a file of the given format. Row groups or record batches have the given size. */
export async function rideFile(
  rides: readonly Ride[],
  format: (typeof FORMATS)[number],
  rowGroupSize: number,
): Promise<string> {
  if (format === 'parquet') {
    const column = (name: keyof Ride, type: string, of: (value: never) => unknown = (value) => value) => ({
      name,
      type: type as 'INT32',
      nullable: true,
      data: rides.map((ride) => (ride[name] === null ? null : of(ride[name] as never))) as number[],
    });
    const columnData = [
      column('zone', 'STRING'),
      column('hour', 'INT32'),
      column('fare', 'DOUBLE'),
      column('tip', 'INT64', (value: number) => BigInt(value)),
      column('card', 'BOOLEAN'),
    ];
    return fileOf(new Uint8Array(parquetWriteBuffer({ columnData, rowGroupSize })), '.parquet');
  }
  const types = { zone: 'string', hour: 'i32', fare: 'f64', tip: 'i64', card: 'bool' };
  const fields = columnsOf([], types).map(({ field }) => field);
  const batches = Array.from({ length: Math.ceil(rides.length / rowGroupSize) }, (_, i) =>
    tableOf(columnsOf(rides.slice(i * rowGroupSize, (i + 1) * rowGroupSize), types)),
  );
  const path = newPath(`.${format}`);
  await writeTable(path, fields, batches);
  return path;
}
