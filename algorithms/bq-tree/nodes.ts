import {
  type ArrayValue,
  array,
  type Column,
  type Context,
  fn,
  inclusiveScan,
  Let,
  map,
  plus,
  popcount,
  sequence,
  type U32,
  u32,
  uniform,
} from '../../primitives/index.ts';

/**
 * The nodes of one level of all tiles, tile by tile, in Morton order within a tile. A node stands for the same square in
 * every bit plane: bit p tells of plane p. A plane is set in the whole square (`ones`), in a part of it (`mixed`), or
 * nowhere. No plane is in both.
 */
export interface Nodes {
  readonly ones: Column<'u32'>;
  readonly mixed: Column<'u32'>;
}

export const node: { readonly ones: typeof u32; readonly mixed: typeof u32 } = { ones: u32, mixed: u32 };

/** Bytes of the entry of a node, and of a last quadrant. */
export const NODE_BYTES = 1;
export const SIGNATURE_BYTES = 2;

/** The nodes of a level with the places of their entries in the trees. A node has an entry for each mixed plane. */
export interface PlacedNodes extends Nodes {
  /** Entries up to and including those of each node, across all tiles. */
  readonly upTo: Column<'u32'>;
  /** For each tile, the byte of its tree where entry 0 of all tiles would be, modulo 2^32. */
  readonly base: Column<'u32'>;
  /** For each tile, the byte after its last entry. */
  readonly end: Column<'u32'>;
}

/** Places the entries of a level in the trees of `tiles` tiles, from byte `start` on. */
export function placeLevel(
  context: Context,
  nodes: Nodes,
  { tiles, start, bytes }: { readonly tiles: number; readonly start: Column<'u32'>; readonly bytes: number },
): PlacedNodes {
  const upTo = inclusiveScan<typeof u32>(map(mixedPlanes, { mixed: nodes.mixed }), plus(u32));
  const perTile = nodes.mixed.capacity / Math.max(1, tiles);
  const places = context.materialize(map(tilePlaces, { tile: sequence(tiles), start, upTo, perTile, bytes }));
  return { ...nodes, upTo, ...places };
}

const mixedPlanes = fn({ mixed: u32 }, u32, ({ mixed }) => popcount(mixed));

const tilePlaces = fn(
  { tile: u32, start: u32, upTo: array(u32), perTile: uniform(u32), bytes: uniform(u32) },
  { base: u32, end: u32 },
  ({ tile, start, upTo, perTile, bytes }) => {
    const first = tile.mul(perTile);
    const before = Let(upTo.at(first.sub(1)));
    const from = start.add(bytes).sub(1).div(bytes).mul(bytes);
    const count = upTo.at(first.add(perTile).sub(1)).sub(before);
    return { base: from.sub(before.mul(bytes)), end: from.add(count.mul(bytes)) };
  },
);

/** The byte, within the tree of its tile, of the first entry of node `at`. */
export function entryByte({
  upTo,
  base,
  tile,
  at,
  bytes,
}: {
  readonly upTo: ArrayValue<'u32'>;
  readonly base: ArrayValue<'u32'>;
  readonly tile: U32;
  readonly at: U32;
  readonly bytes: number;
}): U32 {
  return base.at(tile).add(upTo.at(at.sub(1)).mul(bytes));
}
