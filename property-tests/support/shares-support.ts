import type { FillRule, Zones } from '../../algorithms/geometry/polygons.ts';
import type { RasterGrid } from '../../algorithms/geometry/raster.ts';
import { zoneFractions } from '../../algorithms/zonal/fractions/zone-fractions.ts';
import type { Context } from '../../primitives/index.ts';
import { exactShare, type Rational, type WholeGroup } from './shares-by-hand.ts';

/** A zone: parts of rings of positions, in steps of 2⁻²⁰ of a cell from the first corner of a grid. */
export type WholeZone = readonly WholeGroup[];

export const STEPS: number = 2 ** 20;

/** The share of a whole cell. */
export const ONE: number = 2 ** 30;

/** A grid whose cells have sides of 1, and whose first corner is the origin. */
export function unitGrid(width: number, height: number): RasterGrid {
  return { width, height, originX: 0, originY: 0, stepX: 1, stepY: 1, crs: undefined, geographic: false };
}

/** A square around the origin that reaches `far` to each side: more than any other zone, it stands for the plane. */
export function square(far: number): WholeGroup[number] {
  return [
    [-far, -far],
    [far, -far],
    [far, far],
    [-far, far],
  ];
}

export function wholeZones(zones: readonly WholeZone[]): Zones {
  const rings = zones.flatMap((parts) => parts.flat());
  const vertices = rings.flat();
  const starts = (lengths: readonly number[]): Uint32Array => {
    let end = 0;
    return Uint32Array.from([0, ...lengths], (length) => {
      end += length;
      return end;
    });
  };
  return {
    names: zones.map((_, zone) => `${zone}`),
    polygons: {
      polygonRings: starts(zones.map((parts) => parts.flat().length)),
      ringVertices: starts(rings.map(({ length }) => length)),
      ringParts: Uint32Array.from(zones.flatMap((parts) => parts.flatMap((part, at) => part.map(() => at)))),
      x: Float64Array.from(vertices, ([x]) => x / STEPS),
      y: Float64Array.from(vertices, ([, y]) => y / STEPS),
    },
    crs: undefined,
  };
}

/** The shares of the cells of zones, by `zone:row:column`, in units of 2⁻³⁰. */
export async function sharesOf(
  context: Context,
  zones: Zones,
  grid: RasterGrid,
  options: Parameters<typeof zoneFractions>[3] = {},
): Promise<Map<string, number>> {
  const { row: top = 0, column: left = 0, columns = grid.width } = options.window ?? {};
  const listed = await zoneFractions(context, zones, grid, options);
  const { zone, cell, fraction } = await context.read(listed);
  context.dispose(listed);
  return new Map(
    [...zone].map((each, i) => {
      const [row, column] = [Math.floor(cell[i]! / columns), cell[i]! % columns];
      return [`${each}:${row + top}:${column + left}`, fraction[i]!];
    }),
  );
}

/** The exact share of every cell of a grid that a zone meets, by hand. */
export function exactShares(
  zones: readonly WholeZone[],
  { width, height }: Pick<RasterGrid, 'width' | 'height'>,
  fill: FillRule = 'union',
): Map<string, Rational> {
  const shares = new Map<string, Rational>();
  for (const [zone, parts] of zones.entries()) {
    const groups = fill === 'union' ? parts : [parts.flat()];
    for (let row = 0; row < height; row++) {
      for (let column = 0; column < width; column++) {
        const [left, top] = [column * STEPS, row * STEPS];
        const share = exactShare(groups, { left, top, right: left + STEPS, bottom: top + STEPS });
        if (share.n > 0n) shares.set(`${zone}:${row}:${column}`, share);
      }
    }
  }
  return shares;
}
