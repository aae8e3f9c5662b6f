import { FIELD_BITS } from '../../algorithms/cell-tracking/field-units.ts';
import {
  drawnBy,
  drawsOf,
  flowChange,
  flowIsStill,
  flowOfWindows,
  flowStep,
  MIN_MEAN_CHANGE,
  SIDES,
  settled,
} from '../../algorithms/cell-tracking/flow.ts';
import { WINDOW_WORDS } from '../../algorithms/cell-tracking/index.ts';
import { cutWindows, WORD, windowShape } from '../../algorithms/cell-tracking/windows.ts';
import {
  type Column,
  type Context,
  constant,
  f32,
  fn,
  input,
  map,
  neighbours,
  plus,
  reduce,
  slice,
  stencil,
  type Table,
  u32,
} from '../../primitives/index.ts';
import { type Ladder, requireSameBytes } from './leukocyte-ladder.ts';
import { plainFlow } from './leukocyte-plain.ts';
import { columnsOfCells, type GivenCells } from './tracked-cells.ts';

const [RADIUS, MAX_ROUNDS, FLOW] = [10, 500, { x: 1, y: 1 }];
const PLAIN = {
  ...{ minChange: MIN_MEAN_CHANGE * 2 ** FIELD_BITS, maxRounds: MAX_ROUNDS },
};

interface Window {
  readonly first: number;
  readonly width: number;
  readonly area: number;
}

/**
 * Versions that compute the fields for tracking, slowest first. The first three versions process each window alone:
 * with a launch per neighbour, with a launch per round, and with the convergence test on the device instead of the
 * host. The last two versions process all windows together: with three launches per round, and with one launch for all
 * rounds.
 */
export async function fieldsLadder(context: Context, given: GivenCells): Promise<Ladder> {
  const { width, height } = given.frame;
  const cells = given.x.length;
  const shape = windowShape({ x: 1, y: 0 }, RADIUS);
  const frame = { width, height, grey: context.column(given.frame.grey) };
  const radius = context.materialize(constant(f32, RADIUS, cells));
  const { windows, image } = cutWindows(context, frame, { ...columnsOfCells(context, given), radius }, shape, {
    x: 0,
    y: 1,
  });
  const host = await context.read({ windows, image });
  const placed = windowsIn(host.windows as Uint32Array);
  const plain = (): { field: Float32Array; rounds: Uint32Array } => {
    const made = placed.map(({ first, width, area }) =>
      plainFlow(host.image.slice(first, first + area) as Float32Array, width, PLAIN),
    );
    return { field: joined(made.map(({ field }) => field)), rounds: Uint32Array.from(made, ({ rounds }) => rounds) };
  };
  const expected = plain();
  const relaxed = (): Table =>
    flowOfWindows(image, windows, shape, { flow: FLOW, maxRounds: MAX_ROUNDS, cells, previous: undefined });
  const images = placed.map(({ first, area }) => slice(image, first, first + area));
  const eachAlone = (relaxOne: (own: Column<'f32'>, window: Window) => Promise<Column<'f32'>>) => async () => {
    const fields: Record<string, Column<'f32'>> = {};
    for (const [i, window] of placed.entries()) fields[`field${i}`] = await relaxOne(images[i]!, window);
    return fields;
  };
  const onDevice = stillStep(context);

  return {
    steps: [
      {
        name: 'a launch per neighbour, convergence tested by the host',
        run: eachAlone((own, { width }) => untilStill(context, own, (u) => roundByNeighbours(context, u, own, width))),
      },
      {
        name: 'a launch per round, convergence tested by the host',
        run: eachAlone((own, { width }) =>
          untilStill(context, own, (u) => context.materialize(stencil(flowStep(FLOW), { u, image: own }, { width }))),
        ),
      },
      { name: 'convergence tested by the device: `iterate`', run: eachAlone(onDevice) },
      { name: 'all cells together, three launches per round', run: () => withoutRelax(context, relaxed) },
      { name: 'all rounds of all cells in one launch: `relax`', run: relaxed },
    ],
    plain,
    async check(step, result) {
      const got = await context.read(result);
      const { field, rounds, ...alone } = got as { readonly [name: string]: Float32Array };
      const parts =
        field === undefined ? Object.values(alone) : placed.map(({ first, area }) => field.slice(first, first + area));
      requireSameBytes(`${step}: the field`, joined(parts), expected.field);
      if (rounds !== undefined) requireSameBytes(`${step}: rounds`, rounds, expected.rounds);
    },
  };
}

function windowsIn(words: Uint32Array): Window[] {
  return Array.from({ length: words.length / WINDOW_WORDS }, (_, cell) => {
    const word = (name: keyof typeof WORD): number => words[cell * WINDOW_WORDS + WORD[name]]!;
    return { first: word('first'), width: word('width'), area: word('width') * word('height') };
  });
}

function joined(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Repeats rounds until the field converges; the host reads the sum of changes after each round. */
async function untilStill(
  context: Context,
  image: Column<'f32'>,
  round: (u: Column<'f32'>) => Column<'f32'>,
): Promise<Column<'f32'>> {
  const bound = Math.trunc(Math.fround(image.capacity * Math.fround(PLAIN.minChange)));
  let u = image;
  for (let rounds = 1; ; rounds++) {
    const next = round(u);
    const total = reduce(map(flowChange, { before: u, after: next }), plus(u32));
    const [changed] = (await context.read(total)) as Uint32Array;
    context.dispose(total);
    if (u !== image) context.dispose(u);
    u = next;
    if (changed! <= bound || rounds === MAX_ROUNDS) return u;
  }
}

/**
 * One round of a field: one launch adds the contribution of each neighbour, and a last launch computes the next field.
 */
function roundByNeighbours(context: Context, u: Column<'f32'>, image: Column<'f32'>, width: number): Column<'f32'> {
  let sum = context.materialize(constant(f32, 0, image.capacity)) as Column<'f32'>;
  for (const term of TERMS) {
    const next = context.materialize(stencil(term, { u, sum }, { width }));
    context.dispose(sum);
    sum = next;
  }
  const after = context.materialize(map(settle, { u, sum, image }));
  context.dispose(sum);
  return after;
}

/** One functor per neighbour. Sums are doubled, because neighbours at right angles to the flow contribute half. */
const TERMS = drawsOf(FLOW).map((draw, side) =>
  fn('drawnBySide', { u: neighbours(f32), sum: f32 }, f32, ({ u, sum }) => {
    const [dx, dy] = SIDES[side]!;
    const difference = u.at(dx, dy).sub(u.at(0));
    const drawn = drawnBy(draw, difference);
    return draw === 'half' ? sum.add(drawn) : sum.add(drawn).add(drawn);
  }),
);

const settle = fn('settle', { u: f32, sum: f32, image: f32 }, f32, ({ u, sum, image }) => settled(u, sum, image));

const copied = fn('copied', { value: f32 }, f32, ({ value }) => value.mul(1));

/**
 * Prepares one round for each window size. `context.iterate` repeats the round on the device until the field converges.
 */
function stillStep(context: Context): (own: Column<'f32'>, window: Window) => Promise<Column<'f32'>> {
  const prepare = (width: number, area: number) =>
    context.prepare({ own: input({ u: f32, image: f32 }, area) }, ({ own }) => {
      // The step of a loop must return the whole state of the loop, so the image is copied too.
      const next = context.materialize({
        u: stencil(flowStep(FLOW), own, { width }),
        image: map(copied, { value: own.image }),
      });
      const total = reduce(map(flowChange, { before: own.u, after: next.u }), plus(u32));
      const done = context.materialize(map(flowIsStill, { total, cells: constant(u32, area, 1) }));
      return { own: next, done };
    });
  const steps = new Map<string, ReturnType<typeof prepare>>();
  return async (own, { width, area }) => {
    const key = `${width} ${area}`;
    const step = steps.get(key) ?? prepare(width, area);
    steps.set(key, step);
    const { result } = await context.iterate(step, { own: { u: own, image: own } }, { maxRounds: MAX_ROUNDS });
    context.dispose(result.done, result.own.image);
    return result.own.u as Column<'f32'>;
  };
}

/** Calls `run` while the backend's `relax` is hidden, as on a device without a kernel for many grids. */
function withoutRelax<T>({ backend }: Context, run: () => T): T {
  const hidden = backend as { relax?: unknown };
  const own = Object.getOwnPropertyDescriptor(hidden, 'relax');
  Object.defineProperty(hidden, 'relax', { value: undefined, configurable: true, writable: true });
  try {
    return run();
  } finally {
    if (own === undefined) delete hidden.relax;
    else Object.defineProperty(hidden, 'relax', own);
  }
}
