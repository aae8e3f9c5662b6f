import { expect } from 'vitest';
import {
  byComponent,
  cross,
  distance,
  dot,
  f32,
  fn,
  length,
  map,
  normalize,
  type U32,
  u32,
  type ValuesOf,
  vec2f,
  vec3f,
  vec4f,
} from '../../../primitives/index.ts';
import { testOnEveryBackend } from '../../backends.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

const vectors = { two: vec2f, three: vec3f, four: vec4f };
const computed = fn({ a: vectors, b: vectors }, { ...vectors, dots: vec3f, cross: vec3f }, ({ a, b }) => ({
  two: byComponent((x, y) => x.sub(y), a.two, b.two),
  three: byComponent((x, y, z) => x.mul(y).add(z), a.three, b.three, a.three),
  four: byComponent((x) => x.neg(), a.four),
  dots: { x: dot(a.two, b.two), y: dot(a.three, b.three), z: dot(a.four, b.four) },
  cross: cross(a.three, b.three),
}));

type Numbers = readonly number[];
const round = Math.fround;
const dotOf = (a: Numbers, b: Numbers): number => a.map((x, i) => round(x * b[i]!)).reduce((sum, x) => round(sum + x));

/** Numbers of which neither products nor sums are subnormal. */
const component = fc.integer({ min: -(2 ** 24), max: 2 ** 24 });

testOnEveryBackend(
  'vectors of f32 are computed component by component, each operation rounded',
  async ({ context }) => {
    const tuple = fc.array(component, { minLength: 4, maxLength: 4 });
    const property = fc.asyncProperty(
      fc.array(fc.tuple(tuple, tuple), { minLength: 1, maxLength: 9 }),
      async (rows) => {
        const table = (side: 0 | 1): never => {
          const [x, y, z, w] = [0, 1, 2, 3].map((i) => context.column(Float32Array.from(rows, (row) => row[side][i]!)));
          return { two: { x, y }, three: { x, y, z }, four: { x, y, z, w } } as never;
        };
        const found = await context.read(map(computed, { a: table(0), b: table(1) }));
        const of = (each: (a: Numbers, b: Numbers) => number): Float32Array =>
          Float32Array.from(rows, ([a, b]) => each(a, b));
        const part = (i: number, each: (x: number, y: number) => number): Float32Array =>
          of((a, b) => each(a[i]!, b[i]!));
        const across = (p: number, q: number): Float32Array =>
          of((a, b) => round(round(a[p]! * b[q]!) - round(a[q]! * b[p]!)));
        const times = (x: number, y: number): number => round(round(x * y) + x);
        expect(found).toEqual({
          two: { x: part(0, (x, y) => x - y), y: part(1, (x, y) => x - y) },
          three: { x: part(0, times), y: part(1, times), z: part(2, times) },
          four: { x: part(0, (x) => -x), y: part(1, (x) => -x), z: part(2, (x) => -x), w: part(3, (x) => -x) },
          dots: {
            x: of((a, b) => dotOf(a.slice(0, 2), b.slice(0, 2))),
            y: of((a, b) => dotOf(a.slice(0, 3), b.slice(0, 3))),
            z: of(dotOf),
          },
          cross: { x: across(1, 2), y: across(2, 0), z: across(0, 1) },
        });
      },
    );
    await fc.assert(property, { numRuns: caseCount(100) });
  },
);

test('vectors with other components, or other values, are refused', () => {
  type Values = { readonly u: ValuesOf<typeof vec2f>; readonly v: ValuesOf<typeof vec3f>; readonly whole: U32 };
  const inBody = (body: (values: Values) => unknown) => () =>
    fn({ u: vec2f, v: vec3f, whole: u32 }, f32, (values) => {
      body(values);
      return values.u.x;
    }).module;
  const refused = (code: string): unknown => expect.objectContaining({ code });
  const wrong: readonly ((values: Values) => unknown)[] = [
    ({ u, v }) => dot(v, u as never),
    ({ u }) => cross(u as never, u as never),
    ({ u, v }) => distance(v, u as never),
    ({ whole }) => length({ x: whole as never }),
    ({ u }) => normalize(u.x as never),
    ({ u, whole }) => byComponent((x) => x, { x: u.x, y: whole as never }),
    ({ u }) => byComponent((x) => x, u.x as never),
    ({ u }) => byComponent((x) => x, {} as typeof u),
  ];
  for (const body of wrong) expect(inBody(body)).toThrow(refused('functor/argument'));
  expect(inBody(({ u }) => byComponent(1 as never, u))).toThrow(refused('argument/type'));
});
