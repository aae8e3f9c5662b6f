import { describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import * as q from '../../index.ts';
import { bool, fn, u32 } from '../../index.ts';

/** Functions with loose types, for calls that `tsc` would refuse but that JavaScript programs can make. */
export type Loose = Record<string, (...args: unknown[]) => unknown>;
export const p: Loose = q as unknown as Loose;

// Contexts that all test files of a thread share. So no test file may close `context` or `foreign`.
export const context: q.Context = new q.Context(createReferenceBackend());
const foreign = new q.Context(createReferenceBackend());
export const c: Loose = context as unknown as Loose;

export const x: q.Column<'u32'> = context.column(Uint32Array.of(3, 1, 2));
export const y: q.Column<'f32'> = context.column(Float32Array.of(0.5, 1, 2));
export const flags: q.Column<'bool'> = context.column([true, false, true]);
export const stranger: q.Column<'u32'> = foreign.column(Uint32Array.of(3, 1, 2));
export const gone: q.Column<'u32'> = context.column(Uint32Array.of(3, 1, 2));
context.dispose(gone);
export const goneFlags: q.Column<'bool'> = context.column([true]);
context.dispose(goneFlags);
export const promise: Promise<q.Column<'u32'>> = Promise.resolve(x);
export const plain: unknown = { neither: 'column' };
export const double: unknown = fn('double', { x: u32 }, u32, ({ x }) => x.mul(2));
export const isOdd: q.Functor<{ x: typeof u32 }, typeof bool> = fn('isOdd', { x: u32 }, bool, ({ x }) =>
  x.and(1).eq(1),
);
export const ofRank: q.Functor<{ x: typeof u32; rank: typeof u32 }, typeof u32> = fn(
  'ofRank',
  { x: u32, rank: u32 },
  u32,
  ({ x, rank }) => x.add(rank),
);
export const scaled: unknown = fn(
  'scaled',
  { x: u32, by: q.uniform(u32), table: q.array(u32) },
  u32,
  ({ x, by, table }) => x.mul(by).add(table.at(x)),
);
export const counted: unknown = fn('counted', { rank: u32 }, { bin: u32, histogram: u32 }, ({ rank }) => ({
  bin: rank,
  histogram: 0,
}));
export const middle: unknown = fn('middle', { cell: q.neighbours(u32) }, u32, ({ cell }) => cell.at(0));
export const start: unknown = fn('start', { x: u32 }, { left: u32 }, ({ x }) => ({ left: x }));
export const step: unknown = fn(
  'step',
  { left: u32 },
  { more: bool, emits: bool, state: { left: u32 }, value: u32 },
  ({ left }) => ({
    more: false,
    emits: true,
    state: { left },
    value: left,
  }),
);
export const arrow = (a: unknown): unknown => a;
export const sum: q.Monoid<typeof u32> = q.plus(u32);

/**
 * A wrong call: a description of the mistake, the call, its error code, and a word that the error message must contain.
 */
export type Row = readonly [wrong: string, call: () => unknown, code: string, names: string];

/** Declares one test for each wrong call. */
export function refuses(rows: readonly Row[]): void {
  describe('wrong calls', () => {
    test('have unique names', () => {
      expect(new Set(rows.map(([wrong]) => wrong)).size).toBe(rows.length);
    });

    test.each(rows)('%s', async (_, call, code, names) => {
      const { liveBuffers } = context.backend.counters;
      const error = await Promise.resolve()
        .then(call)
        .then(
          (value) => expect.unreachable(`gave ${String(value)}`),
          (thrown: unknown) => thrown,
        );
      expect(error).toBeInstanceOf(q.QuadrilleError);
      expect(error).toMatchObject({ code });
      expect((error as Error).message).toContain(names);
      expect((error as Error).message.length).toBeLessThan(600);
      if (code.endsWith('/promise')) expect((error as Error).message).toMatch(/promise.*await/);
      // A refused call allocates nothing.
      expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
    });
  });
}
