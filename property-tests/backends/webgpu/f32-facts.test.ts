import fc from 'fast-check';
import { expect, test } from 'vitest';
import { f32FactsOf } from '../../../backends/webgpu/wgsl/f32-facts.ts';
import type { Local, Statement } from '../../../primitives/ir/ir.ts';
import { bind, local } from '../../support/webgpu-support.ts';

/** A program that computes the sums v0 + v1, (v0 + v1) + v2 and so on. */
function chain(values: number): { readonly sums: readonly Local[]; readonly body: Statement[] } {
  const sums = Array.from({ length: values - 1 }, (_, i) => local('f32', values + i));
  const body = sums.map((sum, i) => bind(sum, 'add', i === 0 ? local('f32', 0) : sums[i - 1]!, local('f32', i + 1)));
  return { sums, body };
}

function factsOf(body: readonly Statement[]) {
  return f32FactsOf({ name: 'sums', parameters: [], results: [], body, fast: false });
}

test('subtracting a term from a chain of sums marks a sum that contains it as possibly cancelling', () => {
  const places = fc.integer({ min: 2, max: 300 }).chain((values) => fc.tuple(fc.constant(values), fc.nat(values - 1)));
  const property = fc.property(places, ([values, term]) => {
    const { sums, body } = chain(values);
    const facts = factsOf([...body, bind(local('f32', 2 * values), 'sub', sums.at(-1)!, local('f32', term))]);
    const holding = sums.slice(Math.max(0, term - 1));
    expect(holding.some((sum) => facts.mayCancel(sum))).toBe(true);
  });
  fc.assert(property);
});

test('sums of values that are added once cannot cancel', () => {
  const { sums, body } = chain(40);
  const facts = factsOf([...body, bind(local('f32', 100), 'round', sums.at(-1)!)]);
  expect(sums.filter((sum) => facts.mayCancel(sum))).toEqual([]);
});

test('chains of sums can be as long as the largest functors', () => {
  const { sums, body } = chain(50_000);
  const facts = factsOf([...body, bind(local('f32', 100_000), 'round', sums.at(-1)!)]);
  expect(facts.isUsedOnlyBy(sums.at(-1)!, new Set(['round']))).toBe(true);
});
