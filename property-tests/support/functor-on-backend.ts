import type { ArrayBinding, Backend, Program, Store } from '../../primitives/contract/backend.ts';
import { call, type Links, read, record } from '../../primitives/functors/recorder.ts';
import { entryOf, type Module, type ScalarType } from '../../primitives/ir/ir.ts';
import { bitsOfF32, f32OfBits } from '../../primitives/ir/semantics.ts';
import { resultTypesOf } from '../arbitraries/functor-sketch.ts';
import { moduleOfSketch } from '../arbitraries/functor-sketch-ir.ts';
import type { FuzzCase, Inputs } from '../arbitraries/functors.ts';
import { expectSame, runInterpreter } from './functor-comparison.ts';
import type { Reliance } from './ir-interpreter.ts';

/** Expects that a backend computes a random program as specified, for all results whose bytes are specified. */
export async function expectAsSpecified(
  backend: Backend,
  { sketch, inputs }: FuzzCase,
  reliance: Reliance,
): Promise<void> {
  const module = moduleOfSketch(sketch);
  const got = await runOnBackend(backend, module, inputs);
  expectSame(resultTypesOf(sketch), got, runInterpreter(module, inputs), reliance);
}

/**
 * Runs a module's entry on a backend, for every row of the inputs. For row i, the kernel reads the arguments from
 * element i of the input columns. All input columns share one buffer, and all result columns share a second buffer, so
 * that few bindings are needed.
 */
export async function runOnBackend(backend: Backend, module: Module, inputs: Inputs): Promise<(number | boolean)[][]> {
  const { parameters, results } = entryOf(module);
  const count = inputs.rows.length;
  const columns = [
    ...parameters.map(({ type }, i) => ({ name: `row${i}`, type, values: inputs.rows.map((row) => row[i]!) })),
    ...[...module.arrays].map(([name, type]) => ({ name, type, values: inputs.arrays[name]! })),
  ];
  const words = columns.flatMap(({ type, values }) => values.map((value) => wordOf(type, value)));
  const input = backend.allocate(Math.max(1, words.length));
  const output = backend.allocate(Math.max(1, count * results.length));
  try {
    backend.write(input, 0, Uint32Array.from(words));
    let offset = 0;
    const arrays = new Map<string, ArrayBinding>();
    for (const { name, type, values } of columns) {
      arrays.set(name, { buffer: input, storage: type === 'bool' ? 'u32' : type, offset, length: values.length });
      offset += values.length;
    }
    const program: Program = { module: kernelOf(module), arrays, uniforms: new Map(uniformsOf(module, inputs)) };
    const stores: Store[] = results.map((_, i) => ({ buffer: output, offset: i * count, capacity: count, value: i }));
    backend.run({ kind: 'forEach', extent: count, program, stores });
    const got = await backend.read(output, 0, count * results.length);
    return inputs.rows.map((_, row) => results.map((type, i) => ofWord(type, got[i * count + row]!)));
  } finally {
    backend.release(input);
    backend.release(output);
  }
}

function* uniformsOf({ uniforms }: Module, inputs: Inputs): Iterable<readonly [string, number | boolean]> {
  for (const name of uniforms.keys()) yield [name, inputs.uniforms[name]!];
}

/**
 * A functor of the index. It reads the arguments of a module's entry from the arrays `row0`, `row1` …, and calls the
 * entry.
 */
function kernelOf(module: Module): Module {
  const { parameters, results } = entryOf(module);
  const rows = parameters.map(({ type }, i): [string, ScalarType] => [`row${i}`, type]);
  const links: Links = {
    arrays: new Map([...module.arrays.keys()].map((name) => [name, name])),
    uniforms: new Map([...module.uniforms].map(([name, type]) => [name, { kind: 'uniform', type, name }])),
  };
  const signature = {
    name: 'kernel',
    parameters: ['u32' as const],
    results,
    arrays: new Map([...rows, ...module.arrays]),
    uniforms: module.uniforms,
  };
  return record(signature, ([index]) =>
    call(
      module,
      links,
      rows.map(([name, type]) => read(name, type, index!)),
    ),
  );
}

function wordOf(type: ScalarType, value: number | boolean): number {
  return type === 'f32' ? bitsOfF32(value as number) : Number(value) >>> 0;
}

function ofWord(type: ScalarType, word: number): number | boolean {
  if (type === 'f32') return f32OfBits(word);
  return type === 'bool' ? word !== 0 : type === 'i32' ? word | 0 : word;
}
