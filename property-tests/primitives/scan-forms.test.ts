import { afterAll, beforeAll, describe, expect } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { createWebGpuBackend } from '../../backends/webgpu/backend.ts';
import { testAdapter } from '../../backends/webgpu-node/node-gpu.ts';
import { createWorkersBackend } from '../../backends/workers/index.ts';
import { fixed } from '../../backends/workers/threads/queue.ts';
import { simd, unsigned } from '../../backends/workers/wasm/wasm-encoder.ts';
import type { Column } from '../../primitives/columns/column.ts';
import { destination, type Loader } from '../../primitives/columns/program.ts';
import { Context } from '../../primitives/context/context.ts';
import type { Backend, ScanCommand, ScanForm } from '../../primitives/contract/backend.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import * as q from '../../primitives/index.ts';
import { monoidProgram } from '../../primitives/monoid.ts';
import { combinedByRun } from '../../primitives/runs.ts';
import { countIn, fusedScan } from '../../primitives/scan.ts';
import { costlyCaseCount, someOf } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { listening } from '../support/listening-gpu.ts';
import { openPooledGpu } from '../support/pooled-gpu.ts';
import { keysOfRuns, runLengths } from '../support/run-keys.ts';
import { lookingBack, randomWords } from '../support/webgpu-support.ts';

const { bool, fn, i32, u32 } = q;
const odd = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(1));

interface Inputs {
  readonly x: Column<'u32'>;
  readonly y: Column<'i32'>;
  readonly keys: Column<'u32'>;
}

/**
 * Calls of all primitives that declare the `form` of their scan (such as `compact` or `runs`) to the backend. For some
 * forms, some backends have faster kernels.
 */
const primitives: { readonly [name: string]: (inputs: Inputs) => unknown } = {
  copyIf: ({ x }) => q.copyIf(x, odd),
  removeIf: ({ x }) => q.removeIf(x, odd),
  partition: ({ x }) => q.partition(x, odd),
  unique: ({ keys }) => q.unique(keys),
  uniqueByKey: ({ keys, x }) => q.uniqueByKey(keys, { x }),
  runLengthEncode: ({ keys }) => q.runLengthEncode(keys),
  'reduceByKey of sums': ({ keys, x }) => q.reduceByKey(keys, x, q.plus(u32)),
  'reduceByKey of minima': ({ keys, y }) => q.reduceByKey(keys, y, q.minimum(i32)),
};

function upload(context: Context, n: number, length: string): Inputs {
  const words = randomWords(n, n + 1);
  return {
    x: context.column(words),
    y: context.column(new Int32Array(words.buffer)),
    keys: context.column(keysOfRuns(n, runLengths(900)[length]!, n + 7)),
  };
}

/** A backend that changes scan commands before the given backend receives them. */
function rescanning(backend: Backend, change: (command: ScanCommand) => ScanCommand): Backend {
  const own = Object.getOwnPropertyDescriptors(backend);
  const run: Backend['run'] = (command) => backend.run(command.kind === 'scan' ? change(command) : command);
  return Object.assign(Object.create(null, own), { run }) as Backend;
}

const withoutForm = (command: ScanCommand): ScanCommand => ({ ...command, form: undefined });

const open: { readonly [name: string]: () => Promise<Backend> } = {
  'one worker': () => createWorkersBackend({ workers: 1 }),
  'two workers': () => createWorkersBackend({ workers: 2, inlineNanoseconds: 0 }),
  'webgpu, with look-back': async () =>
    createWebGpuBackend({ gpu: await openPooledGpu(), adapter: testAdapter(), tuning: lookingBack({}) }),
};

describe.each(Object.keys(open))('on %s', (name) => {
  let special: Context;
  let general: Context;
  beforeAll(async () => {
    special = new Context(await open[name]!());
    general = new Context(rescanning(await open[name]!(), withoutForm));
  }, 60_000);
  afterAll(async () => {
    await special.close();
    await general.close();
  });

  const all = Object.values(primitives);
  // By default, one random primitive on WebGPU, because a software GPU takes seconds to compile the kernels of all.
  const some = someOf(all, name.startsWith('webgpu') ? 1 : all.length);
  const sizes = fc.oneof(
    fc.constantFrom(0, 1, 3, 4, 5, 63, 64, 65, 1023, 1025, 2047, 2048, 2049, 4097, 16_385, 40_003),
    fc.nat(3000),
  );
  test.prop([sizes, fc.constantFrom(...Object.keys(runLengths(900)))], { numRuns: costlyCaseCount(10) })(
    'scans give the same bytes without their special form',
    async (n, length) => {
      const [inputs, others] = [upload(special, n, length), upload(general, n, length)];
      for (const run of some) {
        const got = await special.read(run(inputs) as never);
        expect(got).toEqual(await general.read(run(others) as never));
      }
    },
    120_000,
  );
});

test('primitives declare the form of their scans', async () => {
  const forms: (ScanForm | undefined)[] = [];
  const watching = rescanning(createReferenceBackend(), (command) => {
    forms.push(command.form);
    return command;
  });
  await using context = new Context(watching);
  const inputs = upload(context, 9, 'of some rows');
  const formsOf = (name: string): (ScanForm | undefined)[] => {
    forms.length = 0;
    primitives[name]!(inputs);
    return [...forms];
  };
  const selected = { kind: 'compact', selected: 0 };
  for (const name of ['copyIf', 'removeIf', 'unique', 'uniqueByKey']) expect(formsOf(name)).toEqual([selected]);
  expect(formsOf('partition')).toEqual([{ ...selected, rejected: 2 }]);
  const sums = { kind: 'runs', inner: monoidProgram(q.plus(u32)) };
  expect(formsOf('runLengthEncode')).toEqual([sums]);
  expect(formsOf('reduceByKey of sums')).toEqual([sums]);
  expect(formsOf('reduceByKey of minima')).toEqual([{ kind: 'runs', inner: monoidProgram(q.minimum(i32)) }]);
});

/** copyIf and reduceByKey, rewritten with equivalent but different functors. */
const rewritten: { readonly [name: string]: (context: Context, inputs: Inputs) => unknown } = {
  copyIf: (context, { x }) =>
    context.scope(() => {
      const count = context.allocate(1);
      const rows = context.stored('u32', countIn(count, 0, x.capacity));
      fusedScan('copyIf', {
        context,
        length: x.length,
        monoid: q.plus(u32),
        element: (index, loader) => [(loader.load([x], index) as U32[])[0]!.and(1)],
        emit: (index, _, [after], loader) => {
          const [value] = loader.load([x], index) as [U32];
          const flag = value.shl(31).ne(0);
          return [value, (after as U32).sub(u32(flag)), flag];
        },
        emitted: ['u32', 'u32', 'bool'],
        stores: [{ ...destination(rows), value: 0, index: 1, guard: 2 }],
        total: count,
        form: { kind: 'compact', selected: 2 },
      });
      return rows;
    }),
  'reduceByKey of sums': (context, { keys, x }) =>
    context.scope(() => {
      const total = context.allocate(2);
      const runs = countIn(total, 0, x.capacity);
      const [key, value] = [context.stored('u32', runs), context.stored('u32', runs)];
      const keyAt = (index: U32, loader: Loader): U32 => (loader.load([keys], index) as U32[])[0]!;
      fusedScan('reduceByKey', {
        context,
        length: x.length,
        monoid: combinedByRun(q.plus(u32) as never),
        element: (index, loader) => {
          const isSame = index.ne(0).and(keyAt(index, loader).eq(keyAt(index.sub(index.min(1)), loader)));
          return [u32(1).sub(u32(isSame)), ...loader.load([x], index)];
        },
        emit: (index, _, [run, sum], loader) => {
          const last = u32(x.capacity - 1);
          const isLast = index.ge(last).or(keyAt(index, loader).ne(keyAt(index.add(1), loader)));
          return [sum!, (run as U32).add(2 ** 32 - 1), isLast, keyAt(index, loader)];
        },
        emitted: ['u32', 'u32', 'bool', 'u32'],
        stores: [
          { ...destination(value), value: 0, index: 1, guard: 2 },
          { ...destination(key), value: 3, index: 1, guard: 2 },
        ],
        total,
        form: { kind: 'runs', inner: monoidProgram(q.plus(u32)) },
      });
      return { keys: key, values: value };
    }),
};

/**
 * The bytes of a WebAssembly instruction that loads from the lookup table at the address `table`. Only the vectorized
 * code for one form of scans uses this table.
 */
const tableLoad = (table: number): readonly number[] => [0xfd, simd.load, 0, ...unsigned(table)];

/** For each form, WebAssembly bytes and WGSL text that occur only in kernels for this form. */
const marks: { readonly [name: string]: { readonly wasm: readonly number[]; readonly wgsl: string } } = {
  copyIf: { wasm: tableLoad(fixed.compaction), wgsl: 'if (has_lane(m0, lane) != 0u) { let before' },
  'reduceByKey of sums': { wasm: tableLoad(fixed.noHead), wgsl: 'fn values_up_to(' },
};

/** Forms whose kernels are compiled on WebGPU: by default, a random one. */
const onWebGpu = someOf(Object.keys(rewritten), 1);

describe.each(Object.keys(rewritten))('the special form of %s', (name) => {
  const { wasm, wgsl } = marks[name]!;
  const n = 5000;

  async function check(backend: Backend): Promise<void> {
    await using context = new Context(backend);
    const inputs = upload(context, n, 'of some rows');
    const got = await context.read(rewritten[name]!(context, inputs) as never);
    await using reference = new Context(createReferenceBackend());
    const expected = primitives[name]!(upload(reference, n, 'of some rows'));
    expect(got).toEqual(await reference.read(expected as never));
  }

  test('compiles to its vector code on workers', async () => {
    const isFast = async (change: (command: ScanCommand) => ScanCommand): Promise<boolean> => {
      const modules = await compiledBy(async () =>
        check(rescanning(await createWorkersBackend({ workers: 1 }), change)),
      );
      return modules.some((bytes) => Buffer.from(bytes).includes(Buffer.from(wasm)));
    };
    expect(await isFast(withoutForm)).toBe(false);
    expect(await isFast((command) => command)).toBe(true);
  });

  if (!onWebGpu.includes(name)) return;

  test('compiles to its kernel on WebGPU', async () => {
    const { gpu, shaders } = listening(await openPooledGpu());
    const openListening = (): Promise<Backend> =>
      createWebGpuBackend({ gpu, adapter: testAdapter(), tuning: lookingBack({}) });
    const isFast = (): boolean => shaders.some((text) => text.includes(wgsl));
    await check(rescanning(await openListening(), withoutForm));
    expect(isFast()).toBe(false);
    await check(await openListening());
    expect(isFast()).toBe(true);
  }, 60_000);
});

/** Returns the WebAssembly modules that this thread compiles while `body` runs. */
async function compiledBy(body: () => Promise<void>): Promise<Uint8Array[]> {
  const modules: Uint8Array[] = [];
  const { Module } = WebAssembly;
  WebAssembly.Module = class extends Module {
    constructor(bytes: BufferSource) {
      modules.push(new Uint8Array(bytes as ArrayBuffer));
      super(bytes);
    }
  };
  try {
    await body();
  } finally {
    WebAssembly.Module = Module;
  }
  return modules;
}
