import { quoteName } from '../../algorithms/quoted-names.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import type { Steps } from '../bytes/steps.ts';
import { leaveOut } from '../left-out.ts';
import type { ByteWindow } from './byte-window.ts';
import type { FoundGeometries } from './feature.ts';
import { beginPolygon, dropPolygon, endPolygon, type LayerColumns } from './layer-columns.ts';
import type { ForZones, LayerInput } from './layer-input.ts';
import type { PolygonLayerOptions } from './polygon-layer.ts';

/** State of one pass over a layer, from its first byte to its last. */
export interface Reading {
  readonly input: LayerInput;
  readonly options: PolygonLayerOptions;
  readonly signal: AbortSignal | undefined;
  readonly window: ByteWindow;
  readonly columns: LayerColumns;
  /**
   * Name of the coordinate system, if the file has stated one in the bytes read so far; null if the statement cannot be
   * understood.
   */
  stated: string | null | undefined;
  /** The first errors of records that were left out, by the codes of their notes. */
  readonly firstErrors: Map<string, string>;
  readonly forZones: ForZones;
}

/**
 * Reads the records of a layer into `columns`. Yields whenever the columns are full, so that the caller can take a
 * batch.
 */
export type LayerReader = (reading: Reading) => Steps;

/**
 * What the function that opens a format returns: a reader for the records, and the coordinate system that the header
 * states.
 */
export interface OpenedFormat {
  readonly read: LayerReader;
  readonly stated: string | null | undefined;
  /** The definition of that system, if the file has one: well-known text or PROJJSON. */
  readonly crsText?: string | undefined;
  /** Whether coordinates are assumed to be longitudes and latitudes if no system is stated. */
  readonly geographic: boolean;
}

/** Reads one record. If the record is malformed, it is left out or its error is thrown; see {@link leaveOut}. */
export function readRecord(reading: Reading, index: number, read: () => void): void {
  try {
    read();
  } catch (error) {
    const { columns, firstErrors, options } = reading;
    leaveOut(error, index, options.onBadRecord, { tally: columns.tally, firstErrors });
    dropPolygon(columns);
    if (!columns.takesPoints) return;
    beginPolygon(columns, String(index));
    endPolygon(columns);
  }
}

/**
 * Completes the current polygon. If its record has only points and lines, the polygon is removed instead. Returns whether
 * it is kept.
 */
export function endRecord({ columns, input }: Reading, { polygons, others }: FoundGeometries): boolean {
  const name = columns.names.at(-1)!;
  if (columns.takesPoints) {
    const { ringVertices, ringParts, vertices } = columns;
    const points = vertices.length - ringVertices.at(-1)!;
    if (polygons + others > 0 || points > 1)
      throw notPoint(name, polygons + others > 0 ? undefined : points, input.file);
    if (points === 1) {
      ringVertices.push(vertices.length);
      ringParts.push(0);
    }
    endPolygon(columns);
    return true;
  }
  if (others > 0 && polygons === 0) {
    dropPolygon(columns);
    columns.others++;
    columns.tally.add('polygons/other-geometry', name);
    return false;
  }
  if (others > 0) columns.noticed.push('polygons/other-geometry');
  if (polygons > 0) columns.polygons++;
  endPolygon(columns);
  return true;
}

function notPoint(name: string, points: number | undefined, file: string): FormatError {
  return new FormatError('format/not-point', `The record ${quoteName(name)} is not a single point.`, {
    expected: 'a Point, or a MultiPoint of one point',
    got: points === undefined ? 'a geometry of another kind' : `${points} points`,
    remedy: 'Leave such records out with --on-bad-record skip, or write a record for each point.',
    place: { file },
  });
}
