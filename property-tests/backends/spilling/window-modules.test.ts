import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ArrayReader, compileJavaScript, type PlainValue } from '../../../backends/reference/emit-javascript.ts';
import { elementsRead } from '../../../backends/spilling/index-ranges.ts';
import { placingsOf, windowModule } from '../../../backends/spilling/window-module.ts';
import { entryOf, type Module } from '../../../primitives/ir/ir.ts';
import { projectResults } from '../../../primitives/ir/project.ts';
import { moduleOfSketch } from '../../arbitraries/functor-sketch-ir.ts';
import { type FuzzCase, fuzzCases, type Inputs } from '../../arbitraries/functors.ts';
import { expectSame, fuzz, fuzzTimeout, runInterpreter } from '../../support/functor-comparison.ts';
import { SPECIFIED } from '../../support/ir-interpreter.ts';

const cases = fuzzCases(undefined, 5);

/** Random programs whose first parameter is a u32, so that this parameter can be an index. */
const ofAnIndex: fc.Arbitrary<FuzzCase> = cases.filter(
  ({ sketch }) => entryOf(moduleOfSketch(sketch)).parameters[0]?.type === 'u32',
);

function readersOf(
  module: Module,
  { arrays }: Inputs,
  see: (name: string, index: number) => void = () => {},
): Map<string, ArrayReader> {
  return new Map(
    [...module.arrays.keys()].map((name) => {
      const values = arrays[name]!;
      const at = (index: number): PlainValue => {
        see(name, index);
        return values[index]!;
      };
      return [name, { at, length: () => values.length }];
    }),
  );
}

const uniformsOf = (inputs: Inputs): Map<string, PlainValue> => new Map(Object.entries(inputs.uniforms));

test(
  'a projection returns the requested results, for any program',
  () => {
    fc.assert(
      fc.property(cases, fc.infiniteStream(fc.boolean()), ({ sketch, inputs }, chosen) => {
        const module = moduleOfSketch(sketch);
        const results = [...entryOf(module).results.keys()].filter(() => chosen.next().value);
        if (results.length === 0) results.push(0);
        const projected = projectResults(module, results);
        const all = compileJavaScript(module)(readersOf(module, inputs), uniformsOf(inputs));
        const some = compileJavaScript(projected)(readersOf(projected, inputs), uniformsOf(inputs));
        // Two evaluations of a program may differ if a result depends on the bits of a NaN.
        const types = results.map((result) => entryOf(module).results[result]!);
        const specified = runInterpreter(module, inputs).map((row) => results.map((result) => row[result]!));
        for (const evaluate of [some, (...row: PlainValue[]) => results.map((result) => all(...row)[result]!)]) {
          const got = inputs.rows.map((row) => evaluate(...(row as PlainValue[])));
          expectSame(types, got, specified, SPECIFIED);
        }
        expect([...projected.arrays.keys()].every((name) => module.arrays.has(name))).toBe(true);
      }),
      fuzz(300),
    );
  },
  fuzzTimeout,
);

test(
  'a window reads only the elements found for it, and gives the same results as the whole launch',
  () => {
    fc.assert(
      fc.property(ofAnIndex, fc.nat(12), fc.integer({ min: 1, max: 6 }), ({ sketch, inputs }, from, rows) => {
        const module = moduleOfSketch(sketch);
        const length = (name: string): number => inputs.arrays[name]!.length;
        const found = elementsRead(module, {
          index: { min: from, max: from + rows - 1 },
          uniform: (name) => inputs.uniforms[name]!,
          length,
          cell: () => undefined,
        });
        const entry = compileJavaScript(module)(
          readersOf(module, inputs, (name, index) => {
            const elements = found.get(name)!;
            expect(index).toBeGreaterThanOrEqual(elements.from);
            expect(index).toBeLessThan(elements.to);
          }),
          uniformsOf(inputs),
        );
        const isWhole = (name: string): boolean => found.get(name)!.to - found.get(name)!.from >= length(name);
        const placings = placingsOf(module, isWhole);
        const window = windowModule(module, placings);
        const uniforms = uniformsOf(inputs).set(window.start, from);
        for (const [name, uniform] of window.lengths) uniforms.set(uniform, length(name));
        const readers = new Map<string, ArrayReader>();
        for (const [name, placing] of placings) {
          const elements = found.get(name)!;
          const first = placing === 'whole' ? 0 : placing === 'aligned' ? from : elements.from;
          const end = placing === 'whole' ? length(name) : elements.to;
          if (placing === 'piece') uniforms.set(window.pieces.get(name)!, first);
          const values = inputs.arrays[name]!.slice(first, end);
          readers.set(name, { at: (index) => values[index]!, length: () => values.length });
        }
        const inWindow = compileJavaScript(window.module)(readers, uniforms);
        const [others] = inputs.rows.map((row) => row.slice(1));
        const places = Array.from({ length: rows }, (_, i) => i);
        const specified = runInterpreter(module, { ...inputs, rows: places.map((i) => [from + i, ...others!]) });
        const { results } = entryOf(module);
        for (const got of [
          places.map((i) => inWindow(i, ...others!)),
          places.map((i) => entry(from + i, ...others!)),
        ]) {
          expectSame(results, got, specified, SPECIFIED);
        }
      }),
      fuzz(300),
    );
  },
  fuzzTimeout,
);
