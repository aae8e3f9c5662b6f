import { cpus } from 'node:os';
import { createWorkersBackend } from '../../backends/workers/index.ts';
import { Context } from '../../primitives/context/context.ts';
import { type Column, decodeTiles, fn, map, u32 } from '../../primitives/index.ts';
import { openDevice } from '../shared/device.ts';
import { inTurns, spreadOf } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { congruential } from '../shared/random.ts';
import { reduceAgain, showSpread, timePipeline } from '../shared/webgpu-timing.ts';

/**
 * Times the decoding of tiles of 64 × 64 cells to packed u16: residuals of 3 to 6 bits (4.5 on average), blocks of one
 * tile in random order. On WebGPU by the device's own clock, beside a kernel that reads and writes as many bytes; on
 * workers by processor time, on `--threads` threads.
 *
 * node --import tsx bench/primitives/decode-tiles.ts [--backend webgpu|workers] [--adapter hardware|software] [--columns 64] [--tiles N] [--rounds 20] [--threads 1]
 */
const options = programOptions({
  ...{ backend: 'webgpu', adapter: 'hardware', threads: 1 },
  ...{ tiles: undefined, rounds: 20, columns: 64 },
});
const { columns, rounds } = options;
const CELLS = columns * 64;
const BLOCKS = CELLS / 32;
const onDevice = options.backend === 'webgpu';
const tiles = Number(options.tiles ?? (onDevice ? 2 ** 29 : 2 ** 25) / CELLS);

const { words, start } = encoded();
const first = new Uint32Array(tiles).fill(1000);
console.log(
  `${tiles} tiles, ${((tiles * CELLS) / 1e9).toFixed(3)} G cells, ${((32 * words.length) / tiles / CELLS).toFixed(2)} bits a cell`,
);
await (onDevice ? timeOnDevice() : timeOnWorkers());

/** Tiles of residuals with random bits. */
function encoded(): { words: Uint32Array; start: Uint32Array } {
  const next = congruential(1);
  const random = (): number => Math.floor(next() * 2 ** 24);
  const words = new Uint32Array(tiles * (BLOCKS / 4 + BLOCKS * 6));
  const start = new Uint32Array(tiles);
  let end = 0;
  for (let tile = 0; tile < tiles; tile++) {
    start[tile] = end;
    // The smallest width is 3, and a difference has 2 bits.
    words[end] = ((random() << 16) | (2 << 8) | 3) >>> 0;
    const size = Math.ceil((2 + BLOCKS / 4) / 4);
    for (let k = 1; k < size; k++) words[end + k] = (random() << 8) ^ random();
    let last = end + size;
    for (let block = 0; block < BLOCKS; block++) {
      const bit = 16 + 2 * block;
      last += 3 + ((words[end + (bit >> 5)]! >>> (bit & 31)) & 3);
    }
    for (end += size; end < last; end++) words[end] = (random() << 8) ^ random();
  }
  return { words: words.slice(0, end), start };
}

async function timeOnDevice(): Promise<void> {
  const { adapter, backend, context, name } = await openDevice(options.adapter);
  console.log(`adapter   ${name}`);
  const stored = await context.upload(words);
  const places = { start: context.column(start), first: context.column(first) };
  const heat = (): void => reduceAgain(context, stored, adapter === 'hardware' ? 4000 : 1);
  const decode = (): void => context.dispose(decodeTiles(stored, places, { columns, rows: 64, as: 'u16' }));
  const written = (tiles * CELLS) / 2;
  const bytes = 4 * (words.length + written);
  const same = fn('same', { word: u32 }, u32, ({ word }) => word);
  const half = Math.floor(bytes / 8);
  const moved = context.column(new Uint32Array(half));
  const copy = (): void => context.dispose(context.materialize(map(same, { word: moved as Column<'u32'> })));
  const { total: decoding } = await timePipeline(backend, heat, 'reduce', decode, rounds);
  const { total: copying } = await timePipeline(backend, heat, 'reduce', copy, rounds);
  const rate = (milliseconds: number): string => ((tiles * CELLS) / milliseconds / 1e6).toFixed(1);
  console.log(`decode    ${showSpread(decoding)}, ${rate(decoding.median)} G cells a second`);
  console.log(
    `copy      ${showSpread(copying)}, as many bytes; ratio ${(decoding.median / copying.median).toFixed(2)}`,
  );
  await context.close();
}

async function timeOnWorkers(): Promise<void> {
  const context = new Context(await createWorkersBackend({ workers: options.threads }));
  const stored = context.column(words);
  const places = { start: context.column(start), first: context.column(first) };
  const decode = async (): Promise<Column> => {
    const cells = decodeTiles(stored, places, { columns, rows: 64, as: 'u16' });
    await context.backend.sync();
    return cells;
  };
  const [took] = (await inTurns({ decode }, { rounds, warmUps: 3 }, (cells) => context.dispose(cells))).values();
  const { median, min } = spreadOf(took!.map(({ processor }) => 1000 * processor));
  const rate = (milliseconds: number): string => ((tiles * CELLS) / milliseconds / 1e6).toFixed(2);
  console.log(`${cpus()[0]!.model}, ${options.threads} threads`);
  console.log(
    `decode    ${median.toFixed(1)} ms of processor time, ${rate(median)} G cells a second (best ${rate(min)})`,
  );
  await context.close();
}
