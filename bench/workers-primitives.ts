import { parseArgs } from 'node:util';
import { createWorkersBackend } from '../backends/workers/index.ts';
import type { DeviceBuffer, Program, Storage } from '../primitives/backend.ts';
import { array, bool, f32, fn, u32 } from '../primitives/functors/functor.ts';
import type { Module } from '../primitives/functors/ir.ts';
import { monoidProgram, plus } from '../primitives/monoid.ts';

/**
 * Throughput of the kernels of the workers backend, over columns in memory.
 *
 * node --import tsx bench/workers-primitives.ts [--workers N] [--log2 24] [--rounds 9] [--only name]
 */
const { values: options } = parseArgs({
  options: {
    workers: { type: 'string' },
    log2: { type: 'string', default: '24' },
    rounds: { type: 'string', default: '9' },
    only: { type: 'string' },
  },
});

const n = 2 ** Number(options.log2);
const rounds = Number(options.rounds);
const backend = await createWorkersBackend({
  workers: options.workers === undefined ? undefined : Number(options.workers),
  inlineNanoseconds: 0,
});

function upload(fill: (i: number) => number): DeviceBuffer {
  const buffer = backend.allocate(n);
  const step = Math.min(n, 2 ** 20);
  for (let from = 0; from < n; from += step) {
    backend.write(
      buffer,
      from,
      Uint32Array.from({ length: step }, (_, i) => fill(from + i)),
    );
  }
  return buffer;
}

const random = (): number => Math.random() * 2 ** 32;
const words = upload(random);
const floats = upload(() => new Uint32Array(Float32Array.of(Math.random()).buffer)[0]!);
const places = upload((i) => Math.imul(i, 0x9e3779b1) & (n - 1));
const out = backend.allocate(n);
const second = backend.allocate(n);
const few = backend.allocate(8192);

function program(module: Module, arrays: { readonly [name: string]: readonly [DeviceBuffer, Storage] }): Program {
  const bindings = Object.entries(arrays).map(
    ([name, [buffer, storage]]) => [name, { buffer, storage, offset: 0, length: n }] as const,
  );
  return { module, arrays: new Map(bindings), uniforms: new Map() };
}

const xs = { xs: [words, 'u32'] } as const;
const fs = { fs: [floats, 'f32'] } as const;
const load = fn({ i: u32, xs: array(u32) }, u32, (at) => at.xs.at(at.i));
const loadFloat = fn({ i: u32, fs: array(f32) }, f32, (at) => at.fs.at(at.i));
const hash = fn({ i: u32, xs: array(u32) }, u32, (at) => at.xs.at(at.i).mul(2654435761).xor(at.xs.at(at.i).shr(15)));
const polynomial = fn({ i: u32, fs: array(f32) }, f32, (at) => {
  const x = at.fs.at(at.i);
  return x.mul(x).mul(0.5).add(x).sub(1.25);
});
const odd = fn({ i: u32, xs: array(u32) }, u32, (at) => u32(at.xs.at(at.i).and(1).eq(1)));
const keep = fn({ i: u32, a: u32, b: u32, xs: array(u32) }, { keep: bool, place: u32, value: u32 }, (at) => ({
  keep: at.b.ne(at.a),
  place: at.a,
  value: at.xs.at(at.i),
}));
const before = fn({ i: u32, a: u32, b: u32 }, u32, ({ a }) => a);
const beforeFloat = fn({ i: u32, a: f32, b: f32 }, f32, ({ a }) => a);
const gather = fn({ i: u32, xs: array(u32), at: array(u32) }, u32, (from) => from.xs.at(from.at.at(from.i)));
const scatter = fn({ i: u32, xs: array(u32), at: array(u32) }, { value: u32, place: u32 }, (from) => ({
  value: from.xs.at(from.i),
  place: from.at.at(from.i),
}));
const row = fn({ i: u32, xs: array(u32) }, { key: u32, payload: u32 }, (at) => ({
  key: at.xs.at(at.i),
  payload: at.i,
}));
const byte = fn({ i: u32, xs: array(u32) }, u32, (at) => at.xs.at(at.i).shr(24));
const bin = fn({ i: u32, xs: array(u32) }, u32, (at) => at.xs.at(at.i).shr(19));

const whole = { buffer: out, offset: 0, capacity: n, value: 0 };
const into = { buffer: few, word: 0 };
const sums = monoidProgram(plus(u32));
const floatSums = monoidProgram(plus(f32));

const kernels: { readonly [name: string]: () => void } = {
  'map u32': () => backend.forEach(n, program(hash.module, xs), [whole]),
  'map f32': () => backend.forEach(n, program(polynomial.module, fs), [whole]),
  'reduce u32': () => backend.reduce(n, program(load.module, xs), sums, into),
  'reduce f32': () => backend.reduce(n, program(loadFloat.module, fs), floatSums, into),
  'scan u32': () =>
    backend.scan({
      extent: n,
      program: program(load.module, xs),
      monoid: sums,
      emit: program(before.module, {}),
      stores: [whole],
    }),
  'scan f32': () =>
    backend.scan({
      extent: n,
      program: program(loadFloat.module, fs),
      monoid: floatSums,
      emit: program(beforeFloat.module, {}),
      stores: [whole],
    }),
  'copy if': () =>
    backend.scan({
      extent: n,
      program: program(odd.module, xs),
      monoid: sums,
      emit: program(keep.module, xs),
      stores: [{ ...whole, guard: 0, index: 1, value: 2 }],
      total: into,
    }),
  gather: () => backend.forEach(n, program(gather.module, { ...xs, at: [places, 'u32'] }), [whole]),
  scatter: () => backend.forEach(n, program(scatter.module, { ...xs, at: [places, 'u32'] }), [{ ...whole, index: 1 }]),
  'histogram 256': () => backend.histogram({ extent: n, program: program(byte.module, xs), bins: 256, into }),
  'histogram 8192': () => backend.histogram({ extent: n, program: program(bin.module, xs), bins: 8192, into }),
  'sort keys': () =>
    backend.sort({
      extent: n,
      program: program(load.module, xs),
      beginBit: 0,
      endBit: 32,
      keys: { buffer: out, word: 0 },
    }),
  'sort pairs': () =>
    backend.sort({
      extent: n,
      program: program(row.module, xs),
      beginBit: 0,
      endBit: 32,
      keys: { buffer: out, word: 0 },
      payload: { buffer: second, word: 0 },
    }),
};

for (const [name, run] of Object.entries(kernels)) {
  if (options.only !== undefined && !name.includes(options.only)) continue;
  const times: number[] = [];
  for (let round = 0; round < rounds + 2; round++) {
    const start = performance.now();
    run();
    await backend.sync();
    if (round >= 2) times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const median = times[times.length >> 1]!;
  console.log(
    `${name.padEnd(16)} ${median.toFixed(1).padStart(8)} ms   least ${times[0]!.toFixed(1).padStart(8)} ms   ${(n / median / 1000).toFixed(0).padStart(6)} M/s`,
  );
}
await backend.close();
