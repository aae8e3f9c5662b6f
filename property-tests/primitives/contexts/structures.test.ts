import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createStructures, NumberList } from '../../../primitives/host/structures.ts';

const listOf = (numbers: readonly number[]): NumberList => {
  const list = new NumberList();
  for (const number of numbers) list.push(number);
  return list;
};

const few = fc.array(fc.oneof(fc.constantFrom(-1, 0, 1, 0.5, 2 ** 32 - 1, 2 ** 53), fc.nat({ max: 3 })), {
  maxLength: 200,
});

test('a value set for a list is found for equal lists only', () => {
  fc.assert(
    fc.property(fc.array(few, { maxLength: 20 }), few, (lists, sought) => {
      const structures = createStructures<number>(2 ** 20);
      for (const [value, numbers] of lists.entries()) structures.set(listOf(numbers), value);
      const last = lists.findLastIndex((numbers) => numbers.join() === sought.join());
      expect(structures.get(listOf(sought))).toBe(last < 0 ? undefined : last);
    }),
  );
});

test('numbers are compared by Object.is', () => {
  const number = fc.constantFrom(0, -0, Number.NaN, 1, 2, Infinity);
  fc.assert(
    fc.property(fc.array(number), fc.array(number), (a, b) => {
      const structures = createStructures<true>(2 ** 20);
      structures.set(listOf(a), true);
      const isSame = a.length === b.length && a.every((each, i) => Object.is(each, b[i]));
      expect(structures.get(listOf(b))).toBe(isSame ? true : undefined);
    }),
  );
});

test('a list that is cleared and refilled keeps no value of its old contents', () => {
  const list = listOf([1, 2, 3]);
  const structures = createStructures<string>(100);
  structures.set(list, 'long');
  list.clear();
  list.push(1);
  expect(structures.get(list)).toBeUndefined();
});

test('lists that were not used recently are dropped', () => {
  const structures = createStructures<number>(1000, () => 10);
  for (let value = 0; value < 1000; value++) structures.set(listOf([value]), value);
  const kept = Array.from({ length: 1000 }, (_, value) => structures.get(listOf([value])));
  expect(kept.filter((value) => value !== undefined).length).toBeLessThan(50);
  expect(kept.at(-1)).toBe(999);
});
