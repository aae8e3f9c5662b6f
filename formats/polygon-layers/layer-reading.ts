import { FormatError, GeometryError } from '../../primitives/errors.ts';
import type { FoundGeometries } from '../feature.ts';
import type { ByteWindow } from './byte-window.ts';
import { dropPolygon, endPolygon, type LayerColumns } from './layer-columns.ts';
import type { LayerInput } from './layer-input.ts';
import type { PolygonLayerOptions } from './polygon-layer.ts';

/** One pass over a layer, from its first byte to its last. */
export interface Reading {
  readonly input: LayerInput;
  readonly options: PolygonLayerOptions;
  readonly signal: AbortSignal | undefined;
  readonly window: ByteWindow;
  readonly columns: LayerColumns;
  /**
   * The coordinate system stated in the part of the file read so far; null if the file states one that cannot be
   * identified.
   */
  stated: string | null | undefined;
  /** The reason why the first skipped record was skipped. */
  firstBad: string | undefined;
}

/** Reads the records of a layer into the columns, and pauses whenever these are full. */
export type LayerReader = (reading: Reading) => AsyncGenerator<void, void, undefined>;

/** A format's part in opening a layer. */
export interface OpenedFormat {
  readonly read: LayerReader;
  readonly stated: string | null | undefined;
  /** Whether coordinates without a stated system are longitudes and latitudes. */
  readonly geographic: boolean;
}

/** Reads one record. If that fails, stops reading or skips the record, as the user chose. */
export function readRecord(reading: Reading, index: number, read: () => void): void {
  try {
    read();
  } catch (error) {
    leaveOut(reading, index, error);
  }
}

/** Skips a record that cannot be read, or throws its error. */
function leaveOut(reading: Reading, index: number, error: unknown): void {
  const bad = error instanceof FormatError || error instanceof GeometryError;
  if (!bad || reading.options.onBadRecord !== 'skip') throw error;
  dropPolygon(reading.columns);
  reading.columns.tally.add('polygons/bad-records', String(index));
  reading.firstBad ??= error.message;
}

/** Ends the current polygon. It is dropped if its record has only geometries of other kinds. */
export function endRecord({ columns }: Reading, { polygons, others }: FoundGeometries): void {
  const name = columns.names.at(-1)!;
  if (others > 0 && polygons === 0) {
    dropPolygon(columns);
    columns.others++;
    columns.tally.add('polygons/other-geometry', name);
    return;
  }
  if (others > 0) columns.noticed.push('polygons/other-geometry');
  if (polygons > 0) columns.polygons++;
  endPolygon(columns);
}
