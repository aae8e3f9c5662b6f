import { describe, expect } from 'vitest';
import { f32 } from '../../primitives/functors/functor.ts';
import { plus } from '../../primitives/monoid.ts';
import { reduce } from '../../primitives/reduce.ts';
import { inclusiveScan } from '../../primitives/scan.ts';
import { slice } from '../../primitives/slice.ts';
import { fewRows, hostColumn } from '../arbitraries/columns.ts';
import { testOnEveryBackend } from '../backends.ts';
import { caseCount } from '../cases.ts';
import { test } from '../law-test.ts';
import { canonicalLastPrefix, canonicalTotal } from '../laws/canonical-tree.ts';
import { treePrefixes, treeTotal } from '../support/tree-prefixes.ts';

const concat = (a: string, b: string): string => a + b;
const bracket = (a: string, b: string): string => `(${a}${b})`;
const letters = (length: number): string[] => Array.from({ length }, (_, i) => String.fromCharCode(97 + (i % 26)));

describe('the canonical tree', () => {
  test.prop([fewRows], { numRuns: caseCount(30) })('keeps the order of the elements', (length) => {
    const elements = letters(length);
    expect(treeTotal(elements, concat) ?? '').toBe(elements.join(''));
    for (const [i, { exclusive, inclusive }] of treePrefixes(elements, concat).entries()) {
      expect(exclusive ?? '').toBe(elements.slice(0, i).join(''));
      expect(inclusive).toBe(elements.slice(0, i + 1).join(''));
    }
  });

  test.prop([fewRows], { numRuns: caseCount(30) })('depends on the length only', (length) => {
    const one = treeTotal(letters(length), bracket) ?? '';
    const other = treeTotal(letters(length).toReversed(), bracket) ?? '';
    const shape = (text: string): string => text.replaceAll(/[a-z]/g, '.');
    expect(shape(one)).toBe(shape(other));
  });

  test('has the documented shape', () => {
    expect(treeTotal(letters(6), bracket)).toBe('((((ab)c)d)(ef))');
    const bracketed = treePrefixes(letters(14), bracket).map(({ inclusive }) => inclusive);
    expect(bracketed[2]).toBe('((ab)c)');
    expect(bracketed[5]).toBe('((((ab)c)d)(ef))');
    expect(bracketed[8]).toBe('(((((ab)c)d)(((ef)g)h))i)');
    // Before quad 3 (elements 12 to 15), the prefix is S(quads 0 and 1) ⊕ S(quad 2).
    expect(bracketed[13]).toBe('((((((ab)c)d)(((ef)g)h))(((ij)k)l))(mn))');
  });

  test('skips missing elements: -0 stays -0', () => {
    const add = (a: number, b: number): number => a + b;
    expect(treeTotal([-0], add)).toBe(-0);
    expect(treePrefixes([-0, -0, -0, -0, -0, -0], add).map(({ inclusive }) => inclusive)).toEqual(Array(6).fill(-0));
  });
});

describe('above a million elements, where the tree has a third level', () => {
  const values = hostColumn('calm', 2 ** 20 + 1029, { pattern: 'random', seed: 5 });
  const add = (a: number, b: number): number => Math.fround(a + b);
  const total = canonicalTotal([...values], add)!;
  const last = canonicalLastPrefix([...values], add);

  testOnEveryBackend('sums of f32 equal those of the tree', async ({ context }) => {
    const column = context.column(values);
    const result = reduce(column, plus(f32));
    expect(await context.read(result)).toEqual(Float32Array.of(total));
    const sums = context.materialize(slice(inclusiveScan(column, plus(f32)), values.length - 1));
    expect(await context.read(sums)).toEqual(Float32Array.of(last.inclusive));
    context.dispose(result, sums, column);
  });
});
