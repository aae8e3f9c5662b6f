import fc from 'fast-check';
import { expect, test } from 'vitest';
import { f32FactsOf } from '../../../backends/webgpu/wgsl/f32-facts.ts';
import type { Local, Operand, Statement } from '../../../primitives/ir/ir.ts';
import { bind, local } from '../../support/webgpu-support.ts';

/** A program that computes the sums v0 + v1, (v0 + v1) + v2 and so on. */
function chain(values: number): { readonly sums: readonly Local[]; readonly body: Statement[] } {
  const sums = Array.from({ length: values - 1 }, (_, i) => local('f32', values + i));
  const body = sums.map((sum, i) => bind(sum, 'add', i === 0 ? local('f32', 0) : sums[i - 1]!, local('f32', i + 1)));
  return { sums, body };
}

function factsOf(body: readonly Statement[], parameters: readonly Local[] = []) {
  return f32FactsOf({ name: 'sums', parameters, results: [], body, fast: false });
}

/** A random step of a function: what it does, and with which of the values so far. */
interface Step {
  readonly kind: 'add' | 'sub' | 'neg' | 'select' | 'var' | 'set' | 'write' | 'read' | 'call' | 'owned' | 'readOwned';
  readonly a: number;
  readonly b: number;
  readonly at: number;
}

/** A function of steps over three parameters, and what a compiler sees of it if callers give `equal` values. */
function functionOf(steps: readonly Step[]) {
  const parameters = [0, 1, 2].map((id) => local('f32', id));
  const isTrue = local('bool', 3);
  const values: Local[] = [...parameters];
  const variables: Local[] = [];
  const localArray = { kind: 'localArray', id: 4, type: 'f32', length: 2 } as const;
  const body: Statement[] = [{ kind: 'localArray', localArray, value: { kind: 'literal', type: 'f32', value: 0 } }];
  steps.forEach(({ kind, a, b, at }, i) => {
    const [first, second] = [values[a % values.length]!, values[b % values.length]!];
    const next = local('f32', 10 + i);
    const index = { kind: 'literal', type: 'u32', value: at % 2 } as const;
    const variable = variables[at % variables.length];
    if (kind === 'write') body.push({ kind: 'writeLocal', localArray, index, value: first });
    else if (kind === 'owned') body.push({ kind: 'writeOwned', array: 'o', index, value: first });
    else if (kind === 'set' && variable !== undefined) body.push({ kind: 'set', local: variable, value: first });
    else {
      values.push(next);
      if (kind === 'var' || kind === 'set') {
        variables.push(next);
        body.push({ kind: 'var', local: next, value: first });
      } else if (kind === 'read') body.push({ kind: 'readLocal', local: next, localArray, index });
      else if (kind === 'readOwned') body.push({ kind: 'readOwned', local: next, array: 'o', index });
      else if (kind === 'call') body.push({ kind: 'call', callee: 'first', args: [first, second], results: [next] });
      else if (kind === 'neg') body.push(bind(next, 'neg', first));
      else if (kind === 'select') body.push(bind(next, 'select', first, second, isTrue));
      else body.push(bind(next, kind, first, second));
    }
  });
  return { parameters: [...parameters, isTrue], body };
}

/**
 * Runs a function as a compiler that follows every value through variables, arrays and calls, and sees sums that are not
 * hidden as the values that they add. Returns the sums in which it finds a value twice, other than x − x itself.
 */
function simplified({ parameters, body }: ReturnType<typeof functionOf>, given: readonly number[]): Local[] {
  const facts = factsOf(body, parameters);
  const seen = new Map<number | string, ReadonlySet<string>>(given.map((value, id) => [id, new Set([`p${value}`])]));
  const found: Local[] = [];
  const termsIn = (key: number | string): ReadonlySet<string> => seen.get(key) ?? new Set([`zero of ${key}`]);
  const of = (operand: Operand) => (operand.kind === 'local' ? termsIn(operand.id) : new Set([`${operand.kind}`]));
  const element = (name: string, index: Operand): string => `${name} ${index.kind === 'literal' && index.value}`;
  for (const statement of body) {
    if (statement.kind === 'var' || statement.kind === 'set') seen.set(statement.local.id, of(statement.value));
    if (statement.kind === 'writeLocal') seen.set(element('l', statement.index), of(statement.value));
    if (statement.kind === 'writeOwned') seen.set(element('o', statement.index), of(statement.value));
    if (statement.kind === 'readLocal') seen.set(statement.local.id, termsIn(element('l', statement.index)));
    if (statement.kind === 'readOwned') seen.set(statement.local.id, termsIn(element('o', statement.index)));
    if (statement.kind === 'call') seen.set(statement.results[0]!.id, of(statement.args[0]!));
    if (statement.kind !== 'let') continue;
    const { local: result, operation } = statement;
    const [a, b] = operation.operands.slice(0, 2).map(of);
    if (operation.name === 'neg' || operation.name === 'select') seen.set(result.id, a!);
    else {
      const both = [...a!, ...b!];
      const all = new Set(both);
      if (all.size < both.length && both.length > 2) found.push(result);
      seen.set(result.id, facts.mayCancel(result) ? new Set([`hidden ${both.join()}`]) : all);
    }
  }
  return found;
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

test('sums that are not hidden hold no value twice, through variables, arrays, calls and equal arguments', () => {
  const kinds = [
    'add',
    'sub',
    'add',
    'sub',
    'neg',
    'select',
    'var',
    'set',
    'write',
    'read',
    'call',
    'owned',
    'readOwned',
  ];
  const step = fc.record({
    kind: fc.constantFrom(...(kinds as Step['kind'][])),
    a: fc.nat(9),
    b: fc.nat(9),
    at: fc.nat(3),
  });
  const property = fc.property(
    fc.array(step, { maxLength: 14 }),
    fc.constantFrom<number[]>([0, 1, 2], [0, 0, 2], [0, 1, 1], [0, 1, 0], [0, 0, 0]),
    (steps, given) => void expect(simplified(functionOf(steps), given)).toEqual([]),
  );
  const steps = (...all: [Step['kind'], number, number][]): Step[] =>
    all.map(([kind, a, b]) => ({ kind, a, b, at: 0 }));
  // A sum that is hidden is a value of its own, also in what was computed before it was found to be hidden.
  const hiddenBefore = steps(['add', 0, 2], ['add', 0, 0], ['add', 1, 4], ['neg', 3, 0], ['add', 5, 3], ['add', 6, 7]);
  const hiddenAlike = steps(['add', 1, 0], ['add', 0, 0], ['add', 2, 3], ['add', 4, 5]);
  const throughVariable = steps(['add', 0, 1], ['neg', 3, 0], ['var', 4, 0], ['add', 5, 0]);
  const examples: [Step[], number[]][] = [
    [hiddenBefore, [0, 1, 2]],
    [hiddenAlike, [0, 0, 0]],
    [throughVariable, [0, 1, 2]],
  ];
  fc.assert(property, { numRuns: 5000, examples });
});
