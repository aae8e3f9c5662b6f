import { FormatError, type OutOfMemoryError } from '../../primitives/checks/errors.ts';
import { viewOf } from '../bytes/byte-arrays.ts';
import { iteratorOf, type Steps, wait } from '../bytes/steps.ts';
import { isGeographicCrs } from '../crs.ts';
import { overMemory } from '../memory.ts';
import type { ParquetField, ParquetFooter, RowGroup } from '../tables/parquet/footer.ts';
import type { StringDictionary } from '../tables/string-dictionary.ts';
import type { TableBatch } from '../tables/table-file.ts';
import { nullsOf } from '../tables/write/cell-text.ts';
import { missingColumn, nameText } from '../text/record-name.ts';
import { attributeColumns } from './attribute-columns.ts';
import { NO_GEOMETRY } from './feature.ts';
import { type GeometryColumn, geometryColumnOf, noMetadata } from './geoparquet-metadata.ts';
import { beginPolygon, isFull } from './layer-columns.ts';
import { type LayerInput, layerBytes } from './layer-input.ts';
import { endRecord, type OpenedFormat, type Reading, readRecord } from './layer-reading.ts';
import type { PolygonLayerOptions } from './polygon-layer.ts';
import { tableValue } from './table-values.ts';
import { readWkb } from './wkb.ts';
import { sridTaker } from './wkb-srid.ts';

/**
 * Opens a GeoParquet file (https://geoparquet.org, versions 1 and 2), or a Parquet file with a column of the logical type
 * GEOMETRY or GEOGRAPHY. Row groups are read one after the other. Of several columns of geometries, the primary one is
 * read, or the one that `options.geometryColumn` names, which may be any column of WKB.
 *
 * Boxes of geometries, stated for files, row groups or rows, are not used to leave out rows: those that cross the
 * antimeridian have a left side beyond the right one.
 */
export function* openGeoParquet(input: LayerInput, options: PolygonLayerOptions): Steps<OpenedFormat> {
  const parquet = yield* wait(importParquet());
  const footer = yield* wait(parquet.readFooter(layerBytes(input)));
  const { file } = input;
  const geometry = geometryColumnOf(footer, options.geometryColumn, file);
  if (geometry === undefined) {
    // A writer of no rows, as of a part of a folder, may not know what its columns hold.
    if (footer.groups.length === 0) return { read: noRows, stated: undefined, geographic: false };
    throw noMetadata(footer, file);
  }
  return {
    read: (reading) => readRows(reading, footer, geometry),
    stated: geometry.crs,
    crsText: geometry.crsText,
    geographic: geometry.isDefault && !isBeyond(geometry, 360),
  };
}

function* noRows(): Steps {}

// Imported as `openTable` does, so that the bundled command has one file of it.
const importParquet = () => import('../tables/parquet/parquet.ts');

function* readRows(reading: Reading, footer: ParquetFooter, geometry: GeometryColumn): Steps {
  const { input, signal, columns } = reading;
  const source = layerBytes(input);
  const { tableOf } = yield* wait(importParquet());
  const { field } = geometry.field;
  tellGeometry(reading, geometry);
  const { fields, attributes } = yield* chosenColumns(reading, footer, geometry.hidden);
  const room = groupRoom(input, [geometry.field, ...fields]);
  for (const group of footer.groups) room.require(group);
  const blobs = blobDictionary(room.hold);
  const dictionaries = new Map([[field.name, blobs]]);
  const chosen = { ...footer, fields: [geometry.field, ...fields] };
  const batches = iteratorOf(tableOf(source, chosen, { dictionaries, onPage: room.hold }).batches({ signal }));
  const takeSrid = sridTaker(reading, geometry.isDefault ? 'OGC:CRS84' : geometry.crs);
  try {
    for (let group = 0; ; group++) {
      room.clear();
      blobs.clear();
      const { done, value: batch } = yield* wait(batches.next());
      // The window only tells how far the file has been read.
      if (done === true) {
        reading.window.base = input.size;
        return;
      }
      reading.window.base = footer.groups[group]!.chunks.reduce(
        (end, { start, length }) => Math.max(end, start + length),
        0,
      );
      const geometries = geometriesOf(batch, field.name, blobs);
      const nameOf = namesOf(reading, batch, fields, footer);
      const propertiesOf = propertyReader(batch, attributes);
      for (let row = 0; row < batch.rows; row++) {
        const index = batch.first + row;
        readRecord(reading, index, () => {
          const at = { file: input.file, index, id: undefined };
          beginPolygon(columns, nameOf(row));
          const bytes = geometries(row);
          const found =
            bytes === undefined ? NO_GEOMETRY : readWkb(columns, viewOf(bytes), at, (srid) => takeSrid(srid, index));
          if (endRecord(reading, found)) reading.forZones.attributes?.add(propertiesOf(row));
        });
        if (isFull(columns)) yield;
      }
    }
  } finally {
    yield* wait(batches.return?.());
  }
}

/** Notes what the metadata say that the reader does not follow. */
function tellGeometry({ columns: { tally }, options, stated }: Reading, geometry: GeometryColumn): void {
  const { isSpherical, others, bounds, field } = geometry;
  if (isSpherical) tally.add('polygons/spherical-edges', field.field.name);
  for (const other of others) tally.add('polygons/other-geometry-columns', other);
  if (isGeographicCrs(options.crs ?? stated ?? undefined) && isBeyond(geometry, 180)) {
    tally.add('polygons/bounds-beyond-degrees', bounds!.join(', '));
  }
}

/** Whether the stated bounds are no longitudes of at most `most` degrees and latitudes. */
function isBeyond({ bounds }: GeometryColumn, most: number): boolean {
  if (bounds === undefined) return false;
  const [left, bottom, right, top] = bounds.map(Math.abs) as [number, number, number, number];
  return Math.max(left, right) > most + TOLERANCE || Math.max(bottom, top) > 90 + TOLERANCE;
}

/** Degrees by which bounds may leave the globe, as rounding does it. */
const TOLERANCE = 1e-6;

interface ChosenColumns {
  /** The columns that are read besides the geometries. */
  readonly fields: readonly ParquetField[];
  /** Those of them that are attributes. */
  readonly attributes: readonly ParquetField[];
}

/** The columns that name the polygons or are wanted as attributes. Decides their types, where the metadata leave them open. */
function* chosenColumns(reading: Reading, footer: ParquetFooter, hidden: ReadonlySet<string>): Steps<ChosenColumns> {
  const { options, forZones, input } = reading;
  const all = [...footer.fields.map(({ field }) => field.name), ...footer.unread.map(({ name }) => name)];
  const candidates = all.filter((name) => !hidden.has(name)).map((name) => ({ name }));
  const wanted = footer.fields.filter(
    ({ field: { name } }) => !hidden.has(name) && (name === options.id || forZones.attributes?.wants(name) === true),
  );
  const { settledFields } = yield* wait(importParquet());
  const { fields } = yield* wait(settledFields(layerBytes(input), { ...footer, fields: wanted }));
  const fieldOf = (name: string): ParquetField | undefined => fields.find(({ field }) => field.name === name);
  const read = attributeColumns(reading, candidates, ({ name }) => fieldOf(name) !== undefined);
  return { fields, attributes: read.map(({ name }) => fieldOf(name)!) };
}

function geometriesOf(batch: TableBatch, name: string, blobs: BlobDictionary): (row: number) => Uint8Array | undefined {
  const column = batch.columns[name]!;
  const isNull = nullsOf(column);
  const codes = column.type === 'string' ? column.codes : new Uint32Array();
  return (row) => (isNull(row) ? undefined : blobs.blobs[codes[row]!]);
}

/** Returns a function that names the polygon of a row of a batch. */
function namesOf(
  { options: { id }, input: { file } }: Reading,
  batch: TableBatch,
  fields: readonly ParquetField[],
  footer: ParquetFooter,
): (row: number) => string {
  if (id === undefined) return (row) => String(batch.first + row);
  const field = fields.find((each) => each.field.name === id)?.field;
  const value = field && tableValue(field, batch.columns[id]!);
  const names = footer.fields.map((each) => each.field.name);
  const isThere = names.includes(id) || footer.unread.some(({ name }) => name === id);
  return (row) => {
    const at = { file, index: batch.first + row, id: undefined };
    if (value !== undefined) return nameText(value(row), id, at);
    if (isThere) throw unnameable(id, at.index, file);
    throw missingColumn(id, names, at);
  };
}

function unnameable(id: string, record: number, file: string): FormatError {
  return new FormatError('format/bad-name', `The column ${JSON.stringify(id)} cannot name polygons.`, {
    expected: 'a text or a number',
    got: 'values of another kind',
    remedy: 'Name the polygons by another column.',
    place: { file, record },
  });
}

/** Returns a function that gives the attributes of a row of a batch, by name. */
function propertyReader(
  { columns }: TableBatch,
  attributes: readonly ParquetField[],
): (row: number) => Readonly<Record<string, unknown>> {
  const readers = attributes.map(({ field }) => [field.name, tableValue(field, columns[field.name]!)] as const);
  return (row) => Object.fromEntries(readers.map(([name, value]) => [name, value(row)]));
}

/** A dictionary that keeps the bytes of a row group in place of texts, each as a value of its own. */
interface BlobDictionary extends StringDictionary {
  readonly blobs: readonly Uint8Array[];
  clear(): void;
}

function blobDictionary(hold: (bytes: number) => void): BlobDictionary {
  const blobs: Uint8Array[] = [];
  return {
    strings: [],
    blobs,
    codeOf(bytes, from, to) {
      hold(to - from);
      return blobs.push(new Uint8Array(bytes.subarray(from, to))) - 1;
    },
    clear() {
      blobs.length = 0;
    },
  };
}

/** Memory of a row group: for each row of each column, and for its bytes as they are stored, unpacked, and taken out. */
interface GroupRoom {
  /** Throws if a row group takes too much as it is stored, before it is read. */
  require(group: RowGroup): void;
  /** Adds unpacked bytes of the current row group. */
  readonly hold: (bytes: number) => void;
  clear(): void;
}

const BYTES_PER_CELL = 12;

function groupRoom(
  { file, memoryBytes = Number.POSITIVE_INFINITY }: LayerInput,
  fields: readonly ParquetField[],
): GroupRoom {
  let held = 0;
  return {
    require({ rows, chunks, index }) {
      const needed = fields.reduce((sum, field) => sum + BYTES_PER_CELL * rows + chunks[field.index]!.length, 0);
      if (needed > memoryBytes) throw groupTooLarge(needed, `row group ${index} of ${rows} rows`, memoryBytes, file);
    },
    hold(bytes) {
      held += bytes;
      if (held > memoryBytes) throw groupTooLarge(held, 'the unpacked bytes of a row group', memoryBytes, file);
    },
    clear() {
      held = 0;
    },
  };
}

function groupTooLarge(needed: number, what: string, allowed: number, file: string): OutOfMemoryError {
  return overMemory('A row group is too large to be held in memory.', {
    needed,
    what,
    allowed,
    instead: 'write the file with smaller row groups',
    place: { file },
  });
}
