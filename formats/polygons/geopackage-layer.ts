import { quoteName } from '../../algorithms/quoted-names.ts';
import { FormatError, type OutOfMemoryError } from '../../primitives/checks/errors.ts';
import type { Steps } from '../bytes/steps.ts';
import { overMemory } from '../memory.ts';
import { missingColumn, nameText } from '../text/record-name.ts';
import { attributeColumns } from './attribute-columns.ts';
import { chooseLayer } from './choose-layer.ts';
import { type FeaturePlace, type FoundGeometries, NO_GEOMETRY } from './feature.ts';
import { packageGeometry } from './geopackage-geometry.ts';
import { beginPolygon, isFull } from './layer-columns.ts';
import type { LayerInput } from './layer-input.ts';
import { endRecord, type OpenedFormat, type Reading, readRecord } from './layer-reading.ts';
import type { PolygonLayerOptions } from './polygon-layer.ts';
import { crsOfWkt } from './projection.ts';
import { type Database, openDatabase, type SqlRow, type SqlValue } from './sqlite.ts';
import { wholeValue } from './table-values.ts';
import { readWkb } from './wkb.ts';

/** A layer of a GeoPackage: a table or a view with a column of geometries. */
interface Layer {
  readonly name: string;
  readonly geometry: string;
  readonly srsId: number;
  readonly columns: readonly Column[];
  /** The integer primary key; undefined of a view. */
  readonly key: string | undefined;
}

interface Column {
  readonly name: string;
  /** The declared type, in capitals. */
  readonly type: string;
}

/** Most layers, and most columns of one, that are listed. */
const MOST = 10_000;
/** Bytes of memory for a byte of a row: in SQLite, in its value, and in the coordinates. */
const ROW_FACTOR = 8;

/**
 * Opens a layer of a GeoPackage (OGC 12-128). Rows are read in the order of their integer primary key, which names the polygons
 * unless a column does; those of views in their order, and a view has no key, so that their number names them. Neither the index of
 * space nor the stated extent is used, as both may be out of date.
 */
export function* openGeoPackage(input: LayerInput, { layer }: PolygonLayerOptions): Steps<OpenedFormat> {
  const database = yield* openDatabase(input);
  try {
    const found = layerOf(database, layer, input.file);
    return {
      read: (reading) => readRows(reading, found),
      ...crsOf(database, found.srsId),
      geographic: false,
    };
  } finally {
    database.close();
  }
}

function* readRows(reading: Reading, layer: Layer): Steps {
  const { input, columns, options, forZones, window } = reading;
  const database = yield* openDatabase(input);
  try {
    if (layer.key === undefined && options.id === undefined) columns.tally.add('polygons/named-by-row', layer.name);
    const others = layer.columns.filter(({ name }) => name !== layer.geometry && name !== layer.key);
    const read = attributeColumns(reading, others, ({ type }) => !type.startsWith('BLOB'));
    const limit = Math.min(2 ** 31, (input.memoryBytes ?? Number.POSITIVE_INFINITY) / ROW_FACTOR);
    const rows = database.rows(selectionOf(layer, options.id, read), limit);
    for (let index = 0; ; index++) {
      const { done, value: row } = rows.next();
      if (done === true) break;
      if (Number(row.bytes) > limit) throw rowTooLarge(Number(row.bytes), index, input);
      readRecord(reading, index, () => {
        const at = { file: input.file, index, id: layer.key === undefined ? undefined : String(row.key) };
        beginPolygon(columns, nameOf(row, options.id, layer, at));
        const properties = read.map(({ name, type }, column) => [
          name,
          attributeOf(row[`a${column}`]!, type, name, at),
        ]);
        const found = row.geometry === null ? NO_GEOMETRY : readGeometry(reading, row.geometry!, layer, at);
        if (endRecord(reading, found)) forZones.attributes?.add(Object.fromEntries(properties));
      });
      if (isFull(columns)) yield;
    }
    // The window only tells how far the file has been read.
    window.base = input.size;
  } finally {
    database.close();
  }
}

/**
 * A SELECT of the rows of a layer: their size, geometry, key and name, and the columns that are attributes. A value that is longer
 * than the parameter is NULL, as SQLite tells its length without reading it.
 */
function selectionOf({ name, geometry, key, columns }: Layer, id: string | undefined, read: readonly Column[]): string {
  const named = columns.find((column) => column.name === id)?.name;
  const values: [string, string][] = [
    ['geometry', geometry],
    ...read.map((column, at): [string, string] => [`a${at}`, column.name]),
  ];
  if (named !== undefined) values.push(['name', named]);
  const bytes = values.map(([, column]) => `ifnull(octet_length(${quoted(column)}), 0)`).join(' + ');
  const taken = values.map(
    ([as, column]) => `iif(octet_length(${quoted(column)}) > ?1, NULL, ${quoted(column)}) AS ${as}`,
  );
  const ordered = key === undefined ? '' : ` ORDER BY ${quoted(key)}`;
  const keyed = key === undefined ? [] : [`${quoted(key)} AS key`];
  return `SELECT ${[`${bytes} AS bytes`, ...keyed, ...taken].join(', ')} FROM ${quoted(name)}${ordered}`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function nameOf(row: SqlRow, id: string | undefined, { key, columns }: Layer, at: FeaturePlace): string {
  if (id === undefined) return key === undefined ? String(at.index) : String(row.key);
  if (columns.some(({ name }) => name === id)) return nameText(row.name, id, at);
  throw missingColumn(
    id,
    columns.map(({ name }) => name),
    at,
  );
}

/** The value of an attribute. Truth values are those of columns that are declared so. */
function attributeOf(value: SqlValue, type: string, name: string, at: FeaturePlace): unknown {
  if (typeof value === 'bigint') return type === 'BOOLEAN' ? value !== 0n : wholeValue(value);
  if (!(value instanceof Uint8Array)) return value;
  throw new FormatError(
    'format/bad-property',
    `The ${quoteName(name)} of a feature is of another kind than its column.`,
    {
      expected: type,
      got: 'bytes',
      remedy: 'Correct the row, or leave the attribute out.',
      place: { file: at.file, record: at.index },
    },
  );
}

function readGeometry(
  { columns, options }: Reading,
  value: SqlValue,
  { srsId }: Layer,
  at: FeaturePlace,
): FoundGeometries {
  const bytes = value instanceof Uint8Array ? value : new TextEncoder().encode(String(value));
  const geometry = packageGeometry(bytes, at);
  if (geometry.srsId > 0 && geometry.srsId !== srsId && options.crs === undefined) {
    throw new FormatError('format/mixed-crs', 'A geometry is in another coordinate system than its layer.', {
      expected: `srs_id ${srsId}`,
      got: `srs_id ${geometry.srsId}`,
      remedy: 'Transform the geometries into one system, or name the right one (--assume-crs).',
      place: { file: at.file, record: at.index },
    });
  }
  // In a GeoPackage, the binary of a geometry states no system of its own.
  return readWkb(columns, geometry.wkb, at, () => {});
}

function layerOf(database: Database, wanted: string | undefined, file: string): Layer {
  if (!isPackage(database)) throw noPackage(file);
  const layers = listed(
    database,
    `SELECT contents.table_name AS name, columns.column_name AS geometry, columns.srs_id AS srs
     FROM gpkg_contents AS contents JOIN gpkg_geometry_columns AS columns
     ON lower(contents.table_name) = lower(columns.table_name)
     WHERE contents.data_type = 'features' ORDER BY contents.rowid LIMIT ${MOST}`,
  );
  const names = layers.map(({ name }) => String(name));
  const name = chooseLayer(names, wanted, file);
  if (name === undefined) throw noFeatures(file);
  const { geometry, srs } = layers[names.indexOf(name)]!;
  const [schema] = listed(database, 'SELECT type, sql FROM sqlite_schema WHERE lower(name) = lower(?1) LIMIT 1', name);
  const isView = schema?.type === 'view';
  if (isView) requireBounded(database, name, file);
  else if (schema?.type !== 'table' || /^\s*CREATE\s+VIRTUAL/i.test(String(schema.sql))) throw noTable(name, file);
  const columns = listed(database, `SELECT name, type, pk FROM pragma_table_info(?1) LIMIT ${MOST}`, name);
  const keys = columns.filter(({ pk }) => pk !== 0n);
  const key = keys.length === 1 && /^INTEGER$/i.test(String(keys[0]!.type)) ? String(keys[0]!.name) : undefined;
  const own = columns.find((column) => String(column.name).toLowerCase() === String(geometry).toLowerCase());
  if (own === undefined) throw noTable(`${name}.${String(geometry)}`, file);
  return {
    name,
    geometry: String(own.name),
    srsId: Number(srs),
    key: isView ? undefined : key,
    columns: columns.map((column) => ({ name: String(column.name), type: String(column.type).toUpperCase() })),
  };
}

function listed(database: Database, sql: string, parameter?: string): SqlRow[] {
  const rows = database.rows(sql, parameter);
  const list: SqlRow[] = [];
  for (let step = rows.next(); step.done !== true; step = rows.next()) list.push(step.value);
  return list;
}

function isPackage(database: Database): boolean {
  const tables = "SELECT name FROM sqlite_schema WHERE name IN ('gpkg_contents', 'gpkg_geometry_columns') LIMIT 9";
  return listed(database, tables).length === 2;
}

/** The coordinate system of a number of the package. 0 and -1 both stand for an unknown one, whatever the standard says. */
function crsOf(database: Database, srsId: number): Pick<OpenedFormat, 'stated' | 'crsText'> {
  if (srsId <= 0) return { stated: undefined };
  const [system] = listed(
    database,
    'SELECT organization, organization_coordsys_id AS code, definition FROM gpkg_spatial_ref_sys WHERE srs_id = ?1 LIMIT 1',
    String(srsId),
  );
  if (system === undefined) return { stated: undefined };
  const organization = String(system.organization).toUpperCase();
  const crsText = String(system.definition);
  if (organization === 'EPSG' || organization === 'ESRI') {
    return { stated: `${organization}:${String(system.code)}`, crsText };
  }
  return { stated: crsOfWkt(crsText), crsText };
}

/**
 * Throws if a view, or one that it names, has a common table expression, as such may be recursive: it would not end, and
 * nothing can interrupt it.
 */
function requireBounded(database: Database, name: string, file: string): void {
  const views = listed(
    database,
    `SELECT lower(name) AS name, lower(sql) AS sql FROM sqlite_schema WHERE type = 'view' LIMIT ${MOST}`,
  );
  const reached = new Set([name.toLowerCase()]);
  for (const view of reached) {
    const sql = String(views.find((other) => other.name === view)?.sql);
    if (/\bwith\b/.test(sql)) throw unbounded(name, file);
    for (const other of views) if (sql.includes(String(other.name))) reached.add(String(other.name));
  }
}

function unbounded(name: string, file: string): FormatError {
  return new FormatError('format/unbounded-view', `The layer ${quoteName(name)} is a view that may not end.`, {
    expected: 'a table, or views without WITH',
    got: 'a view with WITH',
    remedy: 'Write its rows to a table, for example with ogr2ogr.',
    place: { file },
  });
}

function rowTooLarge(bytes: number, index: number, { file, memoryBytes }: LayerInput): OutOfMemoryError {
  return overMemory('A feature is too large to be read.', {
    needed: bytes * ROW_FACTOR,
    what: `a row of ${bytes} bytes`,
    allowed: memoryBytes ?? 2 ** 31 * ROW_FACTOR,
    instead: 'split the polygon',
    place: { file, record: index },
  });
}

function noPackage(file: string): FormatError {
  return new FormatError('format/not-geopackage', 'The database of SQLite is no GeoPackage.', {
    expected: 'the tables gpkg_contents and gpkg_geometry_columns',
    got: 'other tables',
    remedy: 'Convert it, for example with ogr2ogr -f GPKG.',
    place: { file },
  });
}

function noFeatures(file: string): FormatError {
  return new FormatError('format/not-polygon', 'The GeoPackage has no layer of features.', {
    expected: 'a table of features',
    got: 'none',
    remedy: 'Name another file.',
    place: { file },
  });
}

function noTable(name: string, file: string): FormatError {
  return new FormatError(
    'format/malformed-geopackage',
    `The GeoPackage names ${quoteName(name)}, which it does not have.`,
    {
      expected: 'a table or a view with this column of geometries',
      got: 'none',
      remedy: 'Write the file again.',
      place: { file },
    },
  );
}
