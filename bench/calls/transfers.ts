import { type Column, input, selectKth, slice, u32 } from '../../primitives/index.ts';
import { randomOf } from '../experiments/inputs.ts';
import { type Bench, timesOf } from './bench.ts';

/** Number of small reads issued together. */
const AT_ONCE = 8;

/**
 * Times transfers of arrays to the device and back, with a wait after each transfer. For files and more sizes, see
 * `bench/primitives/transfers.ts`.
 */
export async function measureTransfers(bench: Bench): Promise<void> {
  for (const words of [bench.transferWords / 4, bench.transferWords]) {
    await measureUploads(bench, words);
    await measureDownloads(bench, words);
  }
  await measureSmallReads(bench);
}

async function measureUploads(bench: Bench, words: number): Promise<void> {
  const { context, record } = bench;
  const array = new Uint32Array(words).fill(1);
  const ways: Readonly<Record<string, () => Column<'u32'> | Promise<Column<'u32'>>>> = {
    'column()': () => context.column(array),
    'upload()': () => context.upload(array),
  };
  for (const [name, make] of Object.entries(ways)) {
    let column: Column<'u32'> | undefined;
    const drop = (): void => {
      context.dispose(column);
      column = undefined;
    };
    const work = async (): Promise<void> => {
      column = await make();
      // Reads the last element, which arrives only after the whole array.
      await context.read(slice(column, words - 1, words));
    };
    const row = { what: 'upload', n: words, library: `quadrille, ${name}`, way: 'until done', bytes: 4 * words };
    record({ ...row, ...(await timesOf(bench, work, drop)) });
    drop();
  }
}

async function measureDownloads(bench: Bench, words: number): Promise<void> {
  const { context, record } = bench;
  const column = context.column(new Uint32Array(words).fill(1));
  const into = new Uint32Array(words).fill(2);
  const row = { n: words, way: 'until done', bytes: 4 * words };
  const fresh = await timesOf(bench, () => context.read(column));
  record({ ...row, what: 'download into a new array', library: 'quadrille, read()', ...fresh });
  const filled = await timesOf(bench, () => context.read(column, { into }));
  record({ ...row, what: 'download', library: 'quadrille, read(…, { into })', ...filled });
  context.dispose(column);
}

async function measureSmallReads(bench: Bench): Promise<void> {
  const { context, record } = bench;
  const columns = Array.from({ length: AT_ONCE }, (_, i) => context.column(Uint32Array.of(i)));
  const row = { what: 'small read', n: 1, library: 'quadrille, read()', bytes: 4 };
  record({ ...row, way: 'until done', ...(await timesOf(bench, () => context.read(columns[0]!))) });
  const together = await timesOf(bench, () => Promise.all(columns.map((column) => context.read(column))));
  record({ ...row, way: `${AT_ONCE} at once, until all are done`, ...together });
  context.dispose(columns);
}
/** Times `selectKth` for the median of a column, once as an ordinary call and once as a prepared call. */
export async function measureSelectKth(bench: Bench, n: number): Promise<void> {
  const { context, record } = bench;
  const keys = randomOf({ n, type: 'u32' }) as Uint32Array;
  const [x, k] = [context.column(keys), n >> 1];
  const expected = keys.toSorted()[k];
  const prepared = context.prepare({ x: input(u32, n) }, (given) => selectKth(given.x, k));
  const calls = { called: () => selectKth(x, k), prepared: () => prepared({ x }) };
  for (const [name, call] of Object.entries(calls)) {
    const found = call();
    const [got] = await context.read(found);
    if (got !== expected) throw new Error(`selectKth gives ${got} instead of ${expected}.`);
    context.dispose(found);
    const toDone = async (): Promise<void> => {
      context.dispose(call());
      await context.sync();
    };
    const row = { what: 'selectKth', n, library: `quadrille, ${name}`, way: 'alone, until done' };
    record({ ...row, ...(await timesOf(bench, toDone)) });
  }
  prepared.dispose();
  context.dispose(x);
}
