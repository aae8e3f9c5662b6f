import { describe, expect, test } from 'vitest';
import { stripFillOf } from '../../../backends/workers/wasm/strip-fills.ts';
import { For, If, Let, Var } from '../../../primitives/functors/control.ts';
import { fn, u32 } from '../../../primitives/functors/functor.ts';
import { type OwnedValue, owned } from '../../../primitives/functors/owned.ts';
import type { U32 } from '../../../primitives/functors/value.ts';
import { entryOf, type Statement } from '../../../primitives/ir/ir.ts';
import { visitStatements } from '../../../primitives/ir/visit.ts';

type Body = (first: U32, end: U32, x: OwnedValue<'u32'>) => void;

/** Whether the loops that a functor of strips records are fills, in order. */
function fills(body: Body): boolean[] {
  const { module } = fn({ first: u32, end: u32, x: owned(u32) }, {}, ({ first, end, x }) => body(first, end, x));
  const loops: Extract<Statement, { kind: 'loop' }>[] = [];
  visitStatements(entryOf(module).body, (statement) => {
    if (statement.kind === 'loop') loops.push(statement);
  });
  return loops.map((loop) => stripFillOf(loop) !== undefined);
}

const filling: Record<string, Body> = {
  'a literal': (first, end, x) => For(first, end, (i) => x.set(i, 7)),
  'a value from before the loop': (first, end, x) => {
    const value = Let(x.at(first));
    For(first.add(1), end.sub(1), (i) => x.set(i, value));
  },
  'a variable, up to a variable': (first, end, x) => {
    const [value, to] = [Var(first), Var(end)];
    For(first, to, (i) => x.set(i, value));
  },
};

const others: Record<string, Body> = {
  'the index': (first, end, x) => For(first, end, (i) => x.set(i, i)),
  'a value of its round': (first, end, x) => For(first, end, (i) => x.set(i, i.shr(1))),
  'another row': (first, end, x) => For(first, end, (i) => x.set(i.add(1), 7)),
  'the same row in every round': (first, end, x) => For(first, end, () => x.set(first, 7)),
  'every other row': (first, end, x) => For({ from: first, to: end, step: 2 }, (i) => x.set(i, 7)),
  'rows downwards': (first, end, x) => For({ from: end, to: first, step: -1 }, (i) => x.set(i, 7)),
  'some of the rows': (first, end, x) => For(first, end, (i) => If(i.ne(3), () => x.set(i, 7))),
  'two values': (first, end, x) => {
    For(first, end, (i) => {
      x.set(i, 7);
      x.set(i, 8);
    });
  },
};

describe('loops of strips in WebAssembly', () => {
  test.each(Object.entries(filling))('that write %s to all rows of a range are fills', (_, body) => {
    expect(fills(body)).toEqual([true]);
  });

  test.each(Object.entries(others))('that write %s are not', (_, body) => {
    expect(fills(body)).toEqual([false]);
  });
});
