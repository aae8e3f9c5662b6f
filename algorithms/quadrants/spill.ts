import { bool, type Context, copyIf, fn, gather, map, sequence, u32, uniform } from '../../primitives/index.ts';
import { allOrNone, countedRows } from '../free-on-failure.ts';
import type { Front } from './descend.ts';

/** A front (the quadrants of one level and their edges) in host memory, because the device has no room for it. */
export interface SpilledFront {
  readonly open: { readonly [K in keyof Front['open']]: Uint32Array };
  readonly passages: { readonly [K in keyof Front['passages']]: Uint32Array };
}

const isWithin = fn(
  'isWithin',
  { quadrant: u32, from: uniform(u32), to: uniform(u32) },
  bool,
  ({ quadrant, from, to }) => quadrant.ge(from).and(quadrant.lt(to)),
);

const renumbered = fn('renumbered', { quadrant: u32, first: uniform(u32) }, u32, ({ quadrant, first }) =>
  quadrant.sub(first),
);

/** Splits a front into the earlier and the later half of its quadrants, with their edges. Waits for the device once. */
export async function splitFront(
  context: Context,
  front: Front,
): Promise<{ readonly earlier: Front; readonly later: Front }> {
  const count = front.open.column.length as number;
  const middle = count >> 1;
  const [earlier, later] = await allOrNone(context, [
    partOf(context, front, 0, middle),
    partOf(context, front, middle, count),
  ]);
  return { earlier, later };
}

/** The quadrants `from … to − 1` of a front, with their edges. */
async function partOf(context: Context, { open, passages }: Front, from: number, to: number): Promise<Front> {
  const { quadrant } = passages;
  const kept = () => copyIf({ ...passages }, map(isWithin, { quadrant, from, to }));
  return countedRows(context, kept, (found) => ({
    open: gather({ ...open }, sequence(to - from, from)),
    passages: { quadrant: map(renumbered, { quadrant: found.quadrant, first: from }), edge: found.edge },
  }));
}

/** Moves a front from the device to the host. */
export async function spill(context: Context, { open, passages }: Front): Promise<SpilledFront> {
  try {
    const [places, pairs] = await Promise.all([context.read({ ...open }), context.read({ ...passages })]);
    return { open: places, passages: pairs };
  } finally {
    context.dispose(open, passages);
  }
}

/** Moves a front from the host back to the device. */
export function takeUp(context: Context, { open, passages }: SpilledFront): Front {
  return context.scope(() => ({
    open: { column: context.column(open.column), row: context.column(open.row), owner: context.column(open.owner) },
    passages: { quadrant: context.column(passages.quadrant), edge: context.column(passages.edge) },
  }));
}
