import { cpus } from 'node:os';
import type { WebGpuBackend } from '../../backends/webgpu/index.ts';
import { createWorkersBackend } from '../../backends/workers/index.ts';
import { openRaster } from '../../formats/rasters/open-raster.ts';
import { Context } from '../../primitives/context/context.ts';
import {
  array,
  type Backend,
  decodeTiles,
  fn,
  type KernelCommand,
  tileHistograms,
  u32,
} from '../../primitives/index.ts';
import { openDevice } from '../shared/device.ts';
import { inTurns, spreadOf } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { reduceAgain, showSpread, timePipeline } from '../shared/webgpu-timing.ts';

/**
 * Times `tileHistograms` on the first rows of a packed raster of i16, beside its two steps (`decodeTiles` and
 * `rankHistogram`), `decodeTiles` alone, and a plain JavaScript loop that counts decoded cells. On workers by processor
 * time, in turns, on `--threads` threads; on WebGPU by the device's own clock. Zones are a grid of squares of `--side`
 * cells whose edges wind. All must give the same counts.
 *
 * node --import tsx bench/primitives/tile-histograms.ts --file FILE.qbp [--rows 4096] [--bins 5000] [--side 1000]
 *   [--rounds 9] [--backend workers|webgpu] [--threads 1] [--adapter hardware|software]
 */
const options = programOptions({
  ...{ file: undefined, rows: 4096, bins: 5000, side: 1000, rounds: 9, backend: 'workers' },
  ...{ threads: 1, adapter: 'hardware' },
});
if (options.file === undefined) throw new Error('--file is missing');
const { bins, side } = options;

const raster = await openRaster(options.file, {});
const { width, height, blockColumns: columns, blockRows: rows } = raster;
const window = { column: 0, row: 0, columns: width, rows: Math.min(height, options.rows) };
const encoded = await raster.readEncoded!(window, undefined, undefined);
const across = Math.ceil(width / columns);
const down = Math.ceil(window.rows / rows);
const perRow = columns / 32;
const zonesAcross = Math.ceil(width / side) + 2;
const histograms = zonesAcross * (Math.ceil(window.rows / side) + 2);
const parts = partsOfZones();
const table = Uint16Array.from({ length: 65536 }, (_, cell) => binOfCell((cell << 16) >> 16));

const gpu = options.backend === 'webgpu' ? (await openDevice(options.adapter)).backend : undefined;
const inner: Backend = gpu ?? (await createWorkersBackend({ workers: options.threads }));
let fused = true;
const backend: Backend = Object.create(inner, {
  run: { value: (command: KernelCommand) => (fused || command.kind !== 'tileHistograms') && inner.run(command) },
});
const context = new Context(backend);
const words = encoded.wordsOn(context);
const tiles = { start: context.column(encoded.start), first: context.column(encoded.first) };
const onDevice = {
  offsets: context.column(parts.offsets),
  histogram: context.column(parts.histogram),
  word: context.column(parts.word),
  pitch: context.column(new Uint32Array(parts.word.length).fill(perRow)),
  masks: context.column(parts.masks),
};
const captures = { table: context.column(table) };
const binOf = fn('binInTable', { cell: u32, table: array(u32) }, u32, ({ cell, table }) => table.at(cell));
const decode = () => decodeTiles(words, tiles, { columns, rows, as: 'u16' });
const count = (inOne: boolean) => {
  fused = inOne;
  return tileHistograms(words, tiles, onDevice, binOf, { columns, rows, as: 'u16', bins, histograms, captures });
};

const decoded = Uint16Array.from(await context.read(decode()));
const expected = countByHand();
for (const inOne of [true, false]) {
  const found = await context.read(count(inOne));
  if (found.some((counted, k) => counted !== expected[k])) throw new Error('The counts are wrong.');
}
const cells = expected.reduce((sum, counted) => sum + counted, 0);
console.log(gpu === undefined ? `${cpus()[0]!.model}, ${options.threads} threads` : gpu.info.description);
console.log(`${window.columns} × ${window.rows} cells, ${cells} counted, ${histograms} zones, ${bins} bins\n`);
const jobs = { 'in one': () => count(true), 'two steps': () => count(false), 'decodeTiles alone': decode };
await (gpu === undefined ? timeOnWorkers() : timeOnDevice(gpu));
await context.close();

async function timeOnWorkers(): Promise<void> {
  const all = { ...jobs, 'counting by a loop': () => void countByHand() };
  const works = Object.entries(all).map(([name, run]) => {
    const work = async () => {
      const result = run();
      await context.backend.sync();
      return result;
    };
    return [name, work] as const;
  });
  const times = await inTurns(Object.fromEntries(works), { rounds: options.rounds, warmUps: 3 }, (result) =>
    context.dispose(result ?? []),
  );
  for (const [name, took] of times) {
    const { median, min } = spreadOf(took.map(({ processor }) => (1e9 * processor) / cells));
    console.log(`${name.padEnd(20)} ${median.toFixed(2)} ns of processor time a cell (best ${min.toFixed(2)})`);
  }
}

async function timeOnDevice(gpu: WebGpuBackend): Promise<void> {
  const heat = (): void => reduceAgain(context, words, options.adapter === 'software' ? 1 : 4000);
  for (const [name, run] of Object.entries(jobs)) {
    const { total } = await timePipeline(gpu, heat, 'reduce', () => context.dispose(run()), options.rounds);
    const rate = (cells / total.median / 1e6).toFixed(1);
    console.log(`${name.padEnd(20)} ${showSpread(total)}, ${rate} G cells a second`);
  }
}

function binOfCell(value: number): number {
  return value < 0 ? bins : Math.min(bins, Math.floor((value * bins) / 5000));
}

/** The zone of a cell: squares whose edges are waves. */
function zoneOf(row: number, column: number): number {
  const x = column + side * 0.2 * Math.sin((9 * row) / side) + side;
  const y = row + side * 0.2 * Math.sin((7 * column) / side) + side;
  return Math.floor(y / side) * zonesAcross + Math.floor(x / side);
}

function partsOfZones() {
  const [histogram, word, masks, offsets]: [number[], number[], number[], number[]] = [[], [], [], [0]];
  const order = new Map([...encoded.places.entries()].map(([block, place]) => [place, block]));
  for (let tile = 0; tile < encoded.start.length; tile++) {
    const block = order.get(tile)!;
    const [top, left] = [Math.floor(block / across) * rows, (block % across) * columns];
    const found = new Map<number, Uint32Array>();
    for (let cell = 0; cell < rows * columns; cell++) {
      const [row, column] = [top + Math.floor(cell / columns), left + (cell % columns)];
      if (row >= window.rows || column >= width) continue;
      const zone = zoneOf(row, column);
      const mask = found.get(zone) ?? new Uint32Array(rows * perRow);
      found.set(zone, mask);
      mask[cell >> 5]! |= 1 << (cell & 31);
    }
    for (const [zone, mask] of found) {
      histogram.push(zone);
      word.push(masks.length);
      for (const each of mask) masks.push(each);
    }
    offsets.push(histogram.length);
  }
  if (offsets.length !== across * down + 1) throw new Error('Blocks are missing.');
  const [all, ...others] = [masks, histogram, word, offsets].map((list) => Uint32Array.from(list));
  return { masks: all!, histogram: others[0]!, word: others[1]!, offsets: others[2]! };
}

/** Counts decoded cells, part by part and bit by bit. */
function countByHand(): Uint32Array {
  const counts = new Uint32Array(bins * histograms);
  const { offsets, histogram, word, masks } = parts;
  const size = rows * columns;
  for (let tile = 0; tile + 1 < offsets.length; tile++) {
    for (let part = offsets[tile]!; part < offsets[tile + 1]!; part++) {
      const home = histogram[part]! * bins;
      for (let k = 0; k < size >> 5; k++) {
        const first = tile * size + 32 * k;
        for (let mask = masks[word[part]! + k]!; mask !== 0; mask &= mask - 1) {
          const bin = table[decoded[first + 31 - Math.clz32(mask & -mask)]!]!;
          if (bin < bins) counts[home + bin]!++;
        }
      }
    }
  }
  return counts;
}
