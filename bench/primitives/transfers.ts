import { closeSync, openSync, read, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MAP_MODE_READ, MAP_MODE_WRITE, usage } from '../../backends/webgpu/device/usage.ts';
import { openNodeGpu } from '../../backends/webgpu-node/node-gpu.ts';
import { fileElements } from '../../formats/bytes/file-elements.ts';
import { largestOf } from '../../primitives/host/extremes.ts';
import type { Column } from '../../primitives/index.ts';
import { printHead } from '../shared/markdown-table.ts';
import { inTurns, machine, median } from '../shared/measuring.ts';
import { openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';

/**
 * Compares this library's transfers between host and device with the fastest possible transfers. On WebGPU, the fastest
 * transfers are plain loops that call the npm package `webgpu` directly and reuse mapped buffers. On other backends,
 * the fastest transfers are copies between arrays. Our transfers and the fastest transfers take turns in one run.
 *
 * node --import tsx bench/primitives/transfers.ts [--backend webgpu|workers|reference] [--adapter hardware|software] [--mib 16,64,256]
 *   [--file-mib 4096] [--folder /dev/shm] [--rounds 7] [--spill true|false]
 */
const options = programOptions({
  ...{ backend: 'webgpu', adapter: undefined, mib: [1, 16, 64, 256], 'file-mib': 1024 },
  ...{ folder: tmpdir(), rounds: 7, spill: 'true' },
});
const MIB = 2 ** 20;
const SLAB = 16 * MIB;
const BUFFERS = 4;
const ROUNDS = options.rounds;

/** The fastest possible transfers: arrays in both directions, a file to the device, and four bytes back (`small`). */
interface Floor {
  upload(from: Uint8Array): Promise<void>;
  uploadFile(descriptor: number, bytes: number): Promise<void>;
  download(into: Uint8Array): Promise<void>;
  small(): Promise<void>;
  close(): void;
}

const { adapter } = options;
await using context = await openNamed(options, { spill: options.spill === 'true' });
const isGpu = context.backend.name === 'webgpu';
const sizes = options.mib.map((mib) => mib * MIB);
const fileBytes = options['file-mib'] * MIB;
const floor = isGpu ? await gpuFloor(largestOf(sizes, fileBytes)) : hostFloor(largestOf(sizes, fileBytes));
console.log(`${machine()}; ${context.backend.name}, ${ROUNDS} rounds, medians; GB/s\n`);
printHead('transfer | MiB | ours, GB/s | fastest possible, GB/s | ours ÷ fastest');
for (const bytes of sizes) await measureArrays(bytes);
if (fileBytes > 0) await measureFile(fileBytes);
console.log();
printHead('small reads | ours, ms | fastest possible, ms | ours ÷ fastest');
await measureSmall();
floor.close();

async function measureArrays(bytes: number): Promise<void> {
  const from = new Uint32Array(bytes / 4).map((_, i) => i);
  const into = new Uint32Array(bytes / 4).fill(1);
  const fromBytes = new Uint8Array(from.buffer);
  const intoBytes = new Uint8Array(into.buffer);
  const floorUp = (): Promise<void> => floor.upload(fromBytes);
  const mib = bytes / MIB;
  await compare(`column(array)`, mib, () => moved(context.column(from)), floorUp);
  await compare(`upload(array)`, mib, () => moved(context.upload(from)), floorUp);
  const column = await context.upload(from);
  const floorDown = (): Promise<void> => floor.download(intoBytes);
  await compare('read(column, { into })', mib, () => context.read(column, { into }), floorDown);
  requireSame(into, from);
  await compare('read(column)', mib, () => context.read(column), floorDown);
  context.dispose(column);
}

/** Waits until a column is on the device, and frees it. */
async function moved(column: Column | Promise<Column>): Promise<void> {
  const made = await column;
  await context.sync();
  context.dispose(made);
}

/** Times the upload of a file. The file was just written, so its content is in the page cache. */
async function measureFile(bytes: number): Promise<void> {
  const folder = await mkdtemp(join(options.folder, 'transfers-'));
  const path = join(folder, 'words.bin');
  const written = openSync(path, 'w');
  const block = new Uint32Array(SLAB / 4);
  for (let at = 0; at < bytes; at += SLAB) writeSync(written, block.fill(at), 0, Math.min(SLAB, bytes - at));
  closeSync(written);
  const descriptor = openSync(path, 'r');
  try {
    const upload = async (): Promise<void> => moved(context.upload(await fileElements(path, { type: 'u32' })));
    await compare('upload(file)', bytes / MIB, upload, () => floor.uploadFile(descriptor, bytes));
  } finally {
    closeSync(descriptor);
    await rm(folder, { recursive: true });
  }
}

async function measureSmall(): Promise<void> {
  const columns = Array.from({ length: 8 }, (_, i) => context.column(Uint32Array.of(i)));
  const calls = 50;
  const each = async (name: string, call: () => Promise<unknown>): Promise<void> => {
    const often = (work: () => Promise<unknown>) => async (): Promise<void> => {
      for (let i = 0; i < calls; i++) await work();
    };
    const [mine, min] = (
      await medians(
        often(call),
        often(() => floor.small()),
      )
    ).map((ms) => ms / calls) as Pair;
    console.log(`| ${name} | ${mine.toFixed(4)} | ${min.toFixed(4)} | ${(mine / min).toFixed(2)} |`);
  };
  await each('one word', () => context.read(columns[0]!));
  await each('eight words of eight columns, at once', () => Promise.all(columns.map((column) => context.read(column))));
}

type Pair = [ours: number, theirs: number];

/** Median milliseconds of two works that take turns. */
async function medians(ours: () => Promise<unknown>, theirs: () => Promise<unknown>): Promise<Pair> {
  const times = await inTurns({ ours, theirs }, { rounds: ROUNDS });
  return [...times.values()].map((took) => 1000 * median(took.map(({ wall }) => wall))) as Pair;
}

/** Prints the rates of our transfer and the fastest one. */
async function compare(name: string, mib: number, ours: () => Promise<unknown>, theirs: () => Promise<unknown>) {
  const [rateOfOurs, rateOfFloor] = (await medians(ours, theirs)).map((ms) => (mib * MIB) / ms / 1e6) as Pair;
  const cells = [name, mib, rateOfOurs.toFixed(2), rateOfFloor.toFixed(2), (rateOfOurs / rateOfFloor).toFixed(2)];
  console.log(`| ${cells.join(' | ')} |`);
}

function requireSame(got: Uint32Array, expected: Uint32Array): void {
  const wrong = got.findIndex((word, i) => word !== expected[i]);
  if (wrong >= 0) throw new Error(`Word ${wrong} is ${got[wrong]} instead of ${expected[wrong]}.`);
}

/** Transfers through buffers that are made only once: one on the device, and a few mappable ones per direction. */
async function gpuFloor(max: number): Promise<Floor> {
  const gpu = await openNodeGpu(adapter === 'software' ? 'software' : 'hardware');
  const found = (await gpu.requestAdapter(
    adapter === 'software' ? { forceFallbackAdapter: true } : { powerPreference: 'high-performance' },
  ))!;
  const size = Math.min(max, found.limits.maxBufferSize);
  const device = await found.requestDevice({ requiredLimits: { maxBufferSize: found.limits.maxBufferSize } });
  const target = device.createBuffer({ size, usage: usage.copySource | usage.copyDestination });
  const ring = (uses: number, mapped: boolean): GPUBuffer[] =>
    Array.from({ length: BUFFERS }, () => device.createBuffer({ size: SLAB, usage: uses, mappedAtCreation: mapped }));
  const ups = ring(usage.mapWrite | usage.copySource, true).map((buffer) => ({ buffer, ready: Promise.resolve() }));
  const downs = ring(usage.mapRead | usage.copyDestination, false);
  const readInto = promisify(read);
  let alive: readonly unknown[] = [gpu, found, device];
  const copy = (from: GPUBuffer, fromByte: number, to: GPUBuffer, toByte: number, bytes: number): void => {
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(from, fromByte, to, toByte, bytes);
    device.queue.submit([encoder.finish()]);
  };
  const place = (at: number, bytes: number): number => Math.min(at, size - bytes);
  const through = async (
    bytes: number,
    fill: (into: Uint8Array, at: number) => void | Promise<void>,
  ): Promise<void> => {
    let next = 0;
    const lane = async (up: (typeof ups)[number]): Promise<void> => {
      while (next < bytes) {
        const at = next;
        const length = Math.min(SLAB, bytes - at);
        next += length;
        await up.ready;
        await fill(new Uint8Array(up.buffer.getMappedRange(0, length)), at);
        up.buffer.unmap();
        copy(up.buffer, 0, target, place(at, length), length);
        up.ready = up.buffer.mapAsync(MAP_MODE_WRITE) as unknown as Promise<void>;
      }
    };
    await Promise.all(ups.map(lane));
    await device.queue.onSubmittedWorkDone();
  };
  return {
    upload: (from) => through(from.length, (into, at) => into.set(from.subarray(at, at + into.length))),
    uploadFile: (descriptor, bytes) =>
      through(bytes, async (into, at) => void (await readInto(descriptor, into, 0, into.length, at))),
    async download(into) {
      let next = 0;
      const begin = (down: GPUBuffer): (() => Promise<void>) | undefined => {
        if (next >= into.length) return undefined;
        const at = next;
        const length = Math.min(SLAB, into.length - at);
        next += length;
        copy(target, place(at, length), down, 0, length);
        const mapped = down.mapAsync(MAP_MODE_READ, 0, length);
        return async () => {
          await mapped;
          into.set(new Uint8Array(down.getMappedRange(0, length)), at);
          down.unmap();
        };
      };
      const lane = async (down: GPUBuffer): Promise<void> => {
        for (let finish = begin(down); finish !== undefined; finish = begin(down)) await finish();
      };
      await Promise.all(downs.map(lane));
    },
    async small() {
      copy(target, 0, downs[0]!, 0, 4);
      await downs[0]!.mapAsync(MAP_MODE_READ, 0, 4);
      new Uint32Array(downs[0]!.getMappedRange(0, 4)).slice();
      downs[0]!.unmap();
    },
    close() {
      alive = [];
      device.destroy();
      void alive;
    },
  };
}

/** Transfers by copies between arrays, and by reads from a file into an array. */
function hostFloor(max: number): Floor {
  const target = new Uint8Array(new SharedArrayBuffer(max)).fill(1);
  const readInto = promisify(read);
  return {
    upload: async (from) => target.set(from),
    async uploadFile(descriptor, bytes) {
      const pieces = Array.from({ length: Math.ceil(bytes / SLAB) }, (_, i) => i * SLAB);
      const lane = async (): Promise<void> => {
        for (let at = pieces.shift(); at !== undefined; at = pieces.shift()) {
          await readInto(descriptor, target, at, Math.min(SLAB, bytes - at), at);
        }
      };
      await Promise.all(Array.from({ length: BUFFERS }, lane));
    },
    download: async (into) => into.set(target.subarray(0, into.length)),
    small: async () => {
      target.slice(0, 4);
    },
    close() {},
  };
}
