import { type Column, concatenate, constant, fn, map, u32, uniform } from '../../primitives/index.ts';
import type { Quadrants, QuadrantsWithEdges } from '../quadrants/leaves.ts';

/** The quadrants of all sets, one row each. */
export interface SetRows {
  readonly polygon: Column<'u32'>;
  readonly set: Column<'u32'>;
  readonly level: Column<'u32'>;
  readonly lo: Column<'u32'>;
  readonly hi: Column<'u32'>;
  readonly boundary: Column<'u32'>;
}

/** Corners and edges of the rows' quadrants. */
export interface RowEdges {
  readonly corner: Column<'u32'>;
  readonly first: Column<'u32'>;
  readonly count: Column<'u32'>;
}

/** Without edges where not all sets come with theirs. */
export type ConcatenatedSets = { readonly rows: SetRows } & (
  | ConcatenatedEdges
  | { readonly [K in keyof ConcatenatedEdges]?: never }
);

export interface ConcatenatedEdges {
  readonly rowEdges: RowEdges;
  readonly edge: Column<'u32'>;
  readonly ends: Column<'i32'>;
}

/** Brings the quadrants of sets together, numbered by set, and their edges into one table. */
export function concatenateSets(sets: readonly (Quadrants | QuadrantsWithEdges)[]): ConcatenatedSets {
  const rows = concatenate(
    sets.map(({ polygon, code, level, boundary }, set) => ({
      polygon,
      set: constant(u32, set, polygon.length),
      level,
      lo: code.lo,
      hi: code.hi,
      boundary,
    })),
  );
  const withEdges = sets.filter((set): set is QuadrantsWithEdges => 'edges' in set);
  if (withEdges.length < sets.length) return { rows };
  return { rows, ...concatenateEdges(withEdges) };
}

const moved = fn('moved', { place: u32, by: uniform(u32) }, u32, ({ place, by }) => place.add(by));

function concatenateEdges(sets: readonly QuadrantsWithEdges[]): ConcatenatedEdges {
  let [passages, edges] = [0, 0];
  const tables = sets.map(({ edges: { corner, first, count, edge, ends } }) => {
    const table = {
      rowEdges: { corner, first: map(moved, { place: first, by: passages }), count },
      edge: map(moved, { place: edge, by: edges }),
      ends,
    };
    passages += edge.length as number;
    edges += (ends.length as number) / 4;
    return table;
  });
  return {
    rowEdges: concatenate(tables.map(({ rowEdges }) => rowEdges)),
    edge: concatenate(tables.map(({ edge }) => edge)),
    ends: concatenate(tables.map(({ ends }) => ends)),
  };
}
