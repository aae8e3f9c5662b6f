import { forEachZone } from './pair-rows.ts';
import { BYTES_PER_SHARE, createShareRuns, type LackingAreas, lackingAreas, type ShareRows } from './share-rows.ts';

/** The shares of cells on outlines, of zones that are not complete. */
export interface OpenShares {
  /** Adds the shares of a window. */
  add(rows: ShareRows): void;
  /** What the cells of a zone lack to whole ones. */
  lackingOf(zone: number): LackingAreas;
  /** Frees the shares of all zones but some. */
  shrink(isNeeded: (zone: number) => boolean): void;
  bytes(): number;
}

interface Window {
  readonly rows: ShareRows;
  /** For each zone its first row, and the row after the last. */
  readonly ranges: ReadonlyMap<number, readonly [from: number, to: number]>;
}

export function createOpenShares(): OpenShares {
  let windows: Window[] = [];
  return {
    add: (rows) => void windows.push(windowOf(rows)),
    lackingOf(zone) {
      const met = windows.flatMap(({ rows, ranges }) => {
        const range = ranges.get(zone);
        return range === undefined ? [] : [{ rows, range }];
      });
      if (met.length === 1) return lackingAreas(met[0]!.rows, ...met[0]!.range, met[0]!.rows.value);
      const merged = createShareRuns();
      for (const { rows, range } of met) merged.add(mapped(rows, (column) => column.subarray(...range)));
      const all = merged.rows();
      return lackingAreas(all, 0, all.zone.length, all.value);
    },
    shrink(isNeeded) {
      windows = windows.flatMap((window) => {
        const { rows } = window;
        const needed = rows.zone.reduce((sum, zone) => sum + (isNeeded(zone) ? 1 : 0), 0);
        if (needed === 0) return [];
        if (2 * needed > rows.zone.length) return [window];
        return [windowOf(mapped(rows, (column) => column.filter((_, row) => isNeeded(rows.zone[row]!))))];
      });
    },
    bytes: () => windows.reduce((sum, { rows }) => sum + rows.zone.length, 0) * BYTES_PER_SHARE,
  };
}

function windowOf(rows: ShareRows): Window {
  const ranges = new Map<number, readonly [number, number]>();
  forEachZone(rows, (zone, from, to) => ranges.set(zone, [from, to]));
  return { rows, ranges };
}

/** Rows whose columns are changed alike. */
function mapped(rows: ShareRows, change: (column: Uint32Array) => Uint32Array): ShareRows {
  return Object.fromEntries(
    Object.entries(rows).map(([name, column]) => [name, change(column as Uint32Array)]),
  ) as unknown as ShareRows;
}
