import { describe, expect, test } from 'vitest';
import { compileJavaScript, createReferenceBackend } from '../../../backends/reference/index.ts';
import { createWebGpuBackend } from '../../../backends/webgpu/backend.ts';
import { defaultTuning } from '../../../backends/webgpu/tuning/tuning.ts';
import { testAdapter } from '../../../backends/webgpu-node/node-gpu.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Backend, Extent, Program } from '../../../primitives/contract/backend.ts';
import * as q from '../../../primitives/index.ts';
import { backendsThatLaunchOnce, onEveryBackend, testLaws } from '../../backends.ts';
import { fusionLaws } from '../../laws/fusion.ts';
import { listening } from '../../support/listening-gpu.ts';
import { openPooledGpu } from '../../support/pooled-gpu.ts';

const { fn, u32 } = q;

testLaws(fusionLaws);

const combine = fn('combine', { x: u32, y: u32 }, u32, ({ x, y }) => x.mul(y).add(1));
const around = fn('around', { x: q.neighbours(u32) }, u32, ({ x }) => x.at(-1).add(x.at(1)));

interface Inputs {
  readonly a: q.Column<'u32'>;
  readonly b: q.Column<'u32'>;
  readonly idx: q.Column<'u32'>;
}

function inputs(context: Context, rows: number): Inputs {
  const numbers = (of: (i: number) => number): q.Column<'u32'> =>
    context.column(Uint32Array.from({ length: rows }, (_, i) => of(i)));
  return { a: numbers((i) => i), b: numbers((i) => 3 * i), idx: numbers((i) => (i * 7) % rows) };
}

const dot = ({ a, b, idx }: Inputs): q.Column<'u32'> =>
  q.reduce(q.map(combine, { x: a, y: q.gather(b, idx) }), q.plus(u32));

describe('a reduction through views', () => {
  const chains: readonly (readonly [string, (inputs: Inputs) => q.Column<'u32'>])[] = [
    ['a transform of a zip with a gather', dot],
    [
      'a stencil of a transform',
      ({ a, b }) => q.reduce(q.stencil(around, { x: q.map(combine, { x: a, y: b }) }), q.plus(u32)),
    ],
    ['slices, reversed, of a gather', ({ a, idx }) => q.reduce(q.reverse(q.slice(q.gather(a, idx), 0)), q.plus(u32))],
    [
      'differences of a constant and a sequence',
      ({ a }) => {
        const rows = { x: q.sequence(a.length), y: q.adjacentDifference(a) };
        return q.reduce(q.map(combine, rows), q.plus(u32));
      },
    ],
  ];

  onEveryBackend((opened) => {
    test.each(chains)('%s costs no more launches and memory than a reduction of a column', async (_, chain) => {
      const { context } = opened();
      const given = inputs(context, 5000);
      const cost = async (reduction: (inputs: Inputs) => q.Column<'u32'>): Promise<object> => {
        await context.sync();
        const { dispatches, liveBuffers, liveBytes } = context.backend.counters;
        const result = reduction(given);
        await context.sync();
        const after = context.backend.counters;
        const taken = {
          dispatches: after.dispatches - dispatches,
          buffers: after.liveBuffers - liveBuffers,
          bytes: after.liveBytes - liveBytes,
        };
        context.dispose(result);
        return taken;
      };
      expect(await cost(chain)).toEqual(await cost(({ a }) => q.reduce(a, q.plus(u32))));
      context.dispose(given);
    });
  }, backendsThatLaunchOnce());
});

test('a reduction of a transform of a gather moves three words per row, and seven when its steps are stored', async () => {
  const rows = 300;
  const wordsMoved = async (reduction: (given: Inputs, context: Context) => q.Column<'u32'>): Promise<number> => {
    const { backend, moved } = countingWords();
    await using context = new Context(backend);
    const total = reduction(inputs(context, rows), context);
    expect(await context.read(total)).toEqual(Uint32Array.of(dotByLoop(rows)));
    return moved();
  };
  const stepByStep = ({ a, b, idx }: Inputs, context: Context): q.Column<'u32'> => {
    const gathered = context.materialize(q.gather(b, idx));
    const products = context.materialize(q.map(combine, { x: a, y: gathered }));
    return q.reduce(products, q.plus(u32));
  };
  expect(await wordsMoved(dot)).toBe(3 * rows + 1);
  expect(await wordsMoved(stepByStep)).toBe(7 * rows + 1);
});

/** A backend that counts the words that maps and reductions read and store. */
function countingWords(): { readonly backend: Backend; readonly moved: () => number } {
  const inner = createReferenceBackend();
  let words = 0;
  const countReads = (extent: Extent, { module, arrays, uniforms }: Program): void => {
    const rows = extent as number;
    const at = (): number => {
      words++;
      return 0;
    };
    const readers = [...arrays.keys()].map((name) => [name, { at, length: () => rows }] as const);
    const evaluate = compileJavaScript(module)(new Map(readers), uniforms);
    for (let row = 0; row < rows; row++) evaluate(row);
  };
  const backend: Backend = {
    ...inner,
    run(command) {
      if (command.kind === 'forEach' || command.kind === 'reduce') {
        const { extent, program } = command;
        countReads(extent, program);
        words += command.kind === 'reduce' ? command.monoid.types.length : (extent as number) * command.stores.length;
      }
      return inner.run(command);
    },
  };
  return { backend, moved: () => words };
}

describe('on WebGPU', () => {
  test('reduce(map(f, zip(a, gather(b, idx)))) is one kernel, which reads three columns and writes one word', async () => {
    const { gpu, shaders } = listening(await openPooledGpu());
    const tuning = { ...defaultTuning, subgroups: false, blockBy: 'workgroup', blockRows: 1 } as const;
    await using context = new Context(await createWebGpuBackend({ gpu, adapter: testAdapter(), tuning }));
    const given = inputs(context, 200);
    await context.sync();
    const { dispatches } = context.backend.counters;
    shaders.length = 0;
    const total = dot(given);
    expect(await context.read(total)).toEqual(Uint32Array.of(dotByLoop(200)));
    expect(context.backend.counters.dispatches - dispatches).toBe(1);
    expect(shaders).toHaveLength(1);
    expect(bindingsAndProgram(shaders[0]!)).toMatchInlineSnapshot(`
      "@group(1) @binding(0) var<storage, read> b0: array<u32>;
      @group(1) @binding(1) var<storage, read> b1: array<u32>;
      @group(1) @binding(2) var<storage, read> b2: array<u32>;
      @group(1) @binding(3) var<storage, read_write> b3: array<u32>;
      fn p_a0(i: u32) -> u32 { let value = load_0(i …
      fn p_a1(i: u32) -> u32 { let value = load_1(i …
      fn p_a2(i: u32) -> u32 { let value = load_2(i …
      fn p_f0(v0: u32) -> u32 {
      let v1 = p_a1(v0);
      let v2 = p_a2(v1);
      return v2;
      }
      fn p_f1(v0: u32, v1: u32) -> u32 {
      let v2 = (v0 * v1);
      let v3 = (v2 + 1u);
      return v3;
      }
      fn p_f2(v0: u32) -> u32 {
      let v1 = p_a0(v0);
      let v2 = p_f0(v0);
      let v3 = p_f1(v1, v2);
      return v3;
      }
      fn p_entry(v0: u32) -> u32 {
      let v1 = p_f2(v0);
      return v1;
      }
      fn evaluate(i: u32) -> S { let r = p_entry(i); return S(r); }"
    `);
  }, 120_000);
});

function dotByLoop(rows: number): number {
  let sum = 0;
  for (let i = 0; i < rows; i++) sum += i * (3 * ((i * 7) % rows)) + 1;
  return sum;
}

/**
 * Extracts from a shader the bindings and the functions that compute an element. Removes the index guards from
 * functions that read arrays.
 */
function bindingsAndProgram(shader: string): string {
  const buffers = shader.match(/^@group\(1\).*$/gm) ?? [];
  const functions = shader.match(/^fn (?:p_\w+|evaluate)\([\s\S]*?\}$/gm) ?? [];
  const unguarded = functions.map((text) => text.replace(/(let value = load_\d+\(i).*\}$/, '$1 …'));
  return [...buffers, ...unguarded].join('\n');
}

describe('pipelines that are built again', () => {
  const moduleOf = (column: q.Column): unknown => column.source.kind === 'view' && column.source.view.module;

  test('share their modules, for any columns', () => {
    const context = new Context(createReferenceBackend());
    const chain = ({ a, b, idx }: Inputs): q.Column => q.map(combine, { x: a, y: q.gather(b, idx) });
    expect(moduleOf(chain(inputs(context, 3)))).toBe(moduleOf(chain(inputs(context, 70))));
  });

  test('have other modules when functors of the same name differ', async () => {
    const context = new Context(createReferenceBackend());
    const { a } = inputs(context, 5);
    const before = fn('beside', { x: q.neighbours(u32) }, u32, ({ x }) => x.at(-1));
    const after = fn('beside', { x: q.neighbours(u32) }, u32, ({ x }) => x.at(1));
    const [left, right] = [before, after].map((functor) => q.stencil(functor, { x: a }));
    expect(moduleOf(left!)).not.toBe(moduleOf(right!));
    expect(await context.read({ left: left!, right: right! })).toEqual({
      left: Uint32Array.of(0, 0, 1, 2, 3),
      right: Uint32Array.of(1, 2, 3, 4, 4),
    });
  });
});
