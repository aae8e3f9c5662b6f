import { describe, expect } from 'vitest';
import { compileJavaScript } from '../../../backends/reference/emit-javascript.ts';
import { wgsl } from '../../../primitives/functors/text/wgsl.ts';
import type { Module } from '../../../primitives/ir/ir.ts';
import { operationNames } from '../../../primitives/ir/operations.ts';
import { everything, resultTypesOf, type SketchOptions } from '../../arbitraries/functor-sketch.ts';
import { functorOfSketch } from '../../arbitraries/functor-sketch-builder.ts';
import { moduleOfSketch } from '../../arbitraries/functor-sketch-ir.ts';
import { textOfSketch } from '../../arbitraries/functor-sketch-text.ts';
import { type FuzzCase, fuzzCases, type Inputs } from '../../arbitraries/functors.ts';
import { fc, test } from '../../law-test.ts';
import { expectSame, fuzz, fuzzTimeout, plain, runInterpreter } from '../../support/functor-comparison.ts';
import { PROMISED, SPECIFIED } from '../../support/ir-interpreter.ts';

const forText = { ...everything, boolCaptures: false };
const withVectors: SketchOptions = { ...forText, floats: 'mostly', vectors: true };

function runJavaScript(module: Module, { rows, arrays, uniforms }: Inputs): (number | boolean)[][] {
  const readers = Object.entries(arrays).map(
    ([name, values]) => [name, { at: (i: number) => values[i]!, length: () => values.length }] as const,
  );
  const entry = compileJavaScript(module)(new Map(readers), new Map(Object.entries(uniforms)));
  return rows.map((row) => entry(...row));
}

function expectInBuilder({ sketch, inputs }: FuzzCase): void {
  const expected = runInterpreter(moduleOfSketch(sketch), inputs);
  const got = plain(runInterpreter(functorOfSketch(sketch).module, inputs));
  expectSame(resultTypesOf(sketch), got, expected, SPECIFIED);
}

function expectInText({ sketch, inputs }: FuzzCase): void {
  const expected = runInterpreter(moduleOfSketch(sketch), inputs);
  const got = plain(runInterpreter(wgsl(textOfSketch(sketch)).module, inputs));
  expectSame(resultTypesOf(sketch), got, expected, SPECIFIED);
}

describe('random programs', () => {
  test.prop([fuzzCases()], fuzz(250))(
    'compute the same compiled to JavaScript as interpreted',
    ({ sketch, inputs }) => {
      const module = moduleOfSketch(sketch);
      expectSame(resultTypesOf(sketch), runJavaScript(module, inputs), runInterpreter(module, inputs), SPECIFIED);
    },
    fuzzTimeout,
  );

  test.prop([fuzzCases()], fuzz(200))('compute the same when written with the builder', expectInBuilder, fuzzTimeout);

  test.prop([fuzzCases(forText)], fuzz(200))('compute the same when written as text', expectInText, fuzzTimeout);

  test.prop([fuzzCases(withVectors)], fuzz(1500))(
    'compute the same when they have vectors',
    (program) => {
      expectInBuilder(program);
      expectInText(program);
    },
    fuzzTimeout,
  );

  test('mostly have fully specified bytes, use every kind of statement, and differ from row to row', () => {
    const cases: FuzzCase[] = fc.sample(fuzzCases(), { numRuns: 200, seed: 7 });
    const results = cases.map(({ sketch, inputs }) => runInterpreter(moduleOfSketch(sketch), inputs));
    const values = results.flat(2);
    expect(values.filter(({ reliance }) => reliance === PROMISED).length / values.length).toBeGreaterThan(0.6);
    const varying = results.filter((rows) => new Set(rows.map((row) => JSON.stringify(row))).size > 1);
    expect(varying.length / results.length).toBeGreaterThan(0.6);
    const text = JSON.stringify(cases.map(({ sketch }) => moduleOfSketch(sketch).functions));
    const arrays = ['localArray', 'readLocal', 'writeLocal'];
    const others = ['let', 'read', 'length', 'var', 'set', 'call', 'if', 'loop', 'break', 'continue', 'return'];
    for (const kind of [...arrays, ...others]) {
      expect(text).toContain(`"kind":"${kind}"`);
    }
    for (const name of operationNames) {
      expect(text).toContain(`"name":"${name}"`);
    }
  });

  test('with vectors mostly have results of vectors that are specified, and use every kind of them', () => {
    const cases: FuzzCase[] = fc.sample(fuzzCases(withVectors), { numRuns: 100, seed: 7 });
    const numbers = cases.flatMap(({ sketch, inputs }) => {
      return runInterpreter(moduleOfSketch(sketch), inputs).flatMap((row) => row.slice(1, 5));
    });
    const known = numbers.filter(({ value, reliance }) => reliance === PROMISED && Number.isFinite(value));
    expect(known.length / numbers.length).toBeGreaterThan(0.6);
    const text = JSON.stringify(cases.map(({ sketch }) => sketch.functions));
    const statements = ['letVector', 'varVector', 'setVector', 'setComponent'];
    for (const kind of [...statements, 'component', 'dot', 'construct', 'swizzle', 'byComponent']) {
      expect(text).toContain(`"kind":"${kind}"`);
    }
  });
});
