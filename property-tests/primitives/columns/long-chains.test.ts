import { describe, expect, test } from 'vitest';
import * as q from '../../../primitives/index.ts';
import { openReference } from '../../support/reference-context.ts';

const { fn, u32 } = q;
type U32 = q.Column<'u32'>;

/** So long that the library stores some view of every 40 steps. */
const long = fn('long', { x: u32 }, u32, ({ x }) => {
  let value = x;
  for (let i = 0; i < 20; i++) value = value.mul(3).xor(i);
  return value;
});
const add = fn('add', { a: u32, b: u32 }, u32, ({ a, b }) => a.add(b));

const chains: readonly (readonly [string, (column: U32) => U32])[] = [
  ['maps', (x) => q.map(long, { x })],
  ['reversed slices', (x) => q.reverse(q.slice(x, 1))],
  ['reversed maps', (x) => q.reverse(q.map(long, { x }))],
  ['sums of a view with itself', (x) => q.map(add, { a: x, b: x })],
];

/** Counts how often the inputs of views are looked at. */
class Visits {
  count = 0;

  watch(column: U32): void {
    if (column.source.kind !== 'view') return;
    const { view } = column.source;
    for (const name of ['inputs', 'reads'] as const) {
      const value = view[name];
      Object.defineProperty(view, name, { get: () => this.#seen(value) });
    }
  }

  #seen<T>(value: T): T {
    this.count++;
    return value;
  }
}

/** How often `prepare` visits the views of a chain. */
function visitsOf(steps: number, step: (column: U32) => U32): number {
  const context = openReference();
  const visits = new Visits();
  context.prepare({ rows: q.input(u32, 10_000) }, ({ rows }) => {
    let column: U32 = rows;
    for (let i = 0; i < steps; i++) {
      column = step(column);
      visits.watch(column);
    }
    return column;
  });
  return visits.count;
}

describe('preparing a chain of twice the views takes about twice the visits', () => {
  test.each(chains)('%s', (_, step) => {
    const [once, twice] = [visitsOf(600, step), visitsOf(1200, step)];
    expect(once).toBeGreaterThan(600);
    expect(twice / once).toBeLessThan(2.1);
  });
});
