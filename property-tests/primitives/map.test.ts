import { describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { Context } from '../../primitives/context/context.ts';
import * as q from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { mapLaws } from '../laws/map.ts';

const { bool, f32, fn, u32 } = q;

testLaws(mapLaws);

describe('map', () => {
  const context = new Context(createReferenceBackend());
  const x = context.column(Uint32Array.of(1, 2));
  const code = (name: string): unknown => expect.objectContaining({ code: name });
  const lookUp = fn(
    'lookUp',
    { x: u32, table: q.array(u32), by: q.uniform(u32), on: q.uniform(bool), scale: q.uniform(f32) },
    u32,
    ({ x, table, by }) => table.at(x.add(by)),
  );
  const given = { x, table: x, by: 1, on: true, scale: 0.5 };

  test('infers the types of inline functors', async () => {
    const sum: q.Column<'u32'> = q.map(
      fn({ x: u32, y: u32 }, u32, ({ x, y }) => x.add(y)),
      {
        x,
        y: q.map(
          fn({ x: u32 }, u32, ({ x }) => x.mul(10)),
          { x },
        ),
      },
    );
    expect(await context.read(sum)).toEqual(Uint32Array.of(11, 22));
    const both: { readonly half: q.Column<'f32'> } = q.map(
      fn({ x: u32 }, { half: f32 }, ({ x }) => ({ half: f32(x).div(2) })),
      {
        x,
      },
    );
    expect(await context.read(both)).toEqual({ half: Float32Array.of(0.5, 1) });
  });

  test('refuses arguments that are missing or of another type, at compile time and at run time', () => {
    const { x: _, ...withoutRows } = given;
    const { table: __, ...withoutTable } = given;
    // @ts-expect-error no column for x
    expect(() => q.map(lookUp, withoutRows)).toThrow(code('map/argument'));
    // @ts-expect-error no table
    expect(() => q.map(lookUp, withoutTable)).toThrow(code('map/argument'));
    // @ts-expect-error floats for integers
    expect(() => q.map(lookUp, { ...given, x: q.constant(f32, 1, 2) })).toThrow(code('map/column'));
    // @ts-expect-error a number for a column
    expect(() => q.map(lookUp, { ...given, table: 3 })).toThrow(code('map/column'));
    // @ts-expect-error a number for a truth value
    expect(() => q.map(lookUp, { ...given, on: 1 })).toThrow(code('map/uniform'));
  });

  test.each([0.5, -1 - 2 ** 31, 2 ** 32, Number.NaN])('refuses %d as an integer uniform', (by) => {
    expect(() => q.map(lookUp, { ...given, by })).toThrow(code('map/uniform'));
  });

  test('converts a negative uniform to u32, and rounds one of f32', async () => {
    expect(await context.read(q.map(lookUp, { ...given, by: -1 }))).toEqual(Uint32Array.of(1, 2));
    const add = fn({ x: u32, by: q.uniform(f32) }, f32, ({ by }) => by);
    expect(await context.read(q.map(add, { x, by: 0.1 }))).toEqual(Float32Array.of(0.1, 0.1));
  });

  test('refuses to capture a view when no context can store it', () => {
    const views = { ...given, x: q.sequence(2), table: q.sequence(9) };
    expect(() => q.map(lookUp, views)).toThrow(code('column/no-context'));
  });
});
