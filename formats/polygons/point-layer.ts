import type { HostColumn } from '../../algorithms/tables/host-table.ts';
import { finished } from '../bytes/steps.ts';
import { isGeographicCrs } from '../crs.ts';
import type { TableFile } from '../tables/table-file.ts';
import { UsageError } from '../usage-error.ts';
import { fileInput } from './file-input.ts';
import { formatOf } from './layer-format.ts';
import { type LayerInput, layerBytes } from './layer-input.ts';
import type { PolygonFormat } from './polygon-format.ts';
import type { PolygonLayer, PolygonLayerOptions } from './polygon-layer.ts';
import { openLayer } from './read-layer.ts';

/** Names of columns of coordinates: with one of each list, a Parquet file is a table of points. */
export type CoordinateNames = readonly (readonly string[])[];

/**
 * Opens a layer of points: GeoJSON, also by lines, FlatGeobuf, a Shapefile, also in a ZIP archive, GeoParquet or GeoPackage.
 * Batches have a polygon of one vertex for each record, or without rings for a record without a point.
 *
 * @param names - Names of columns; a Parquet file that has such columns is no layer, whatever its geometries.
 * @returns Undefined if the file is no such layer, but a table, such as CSV.
 * @throws As `openPolygonLayer` does. Reading throws `format/not-point` for records with other geometry, or several points.
 */
export async function openPointLayer(
  file: string,
  options: PolygonLayerOptions,
  names: CoordinateNames,
): Promise<PolygonLayer | undefined> {
  const input = await fileInput(file, options.memoryBytes);
  const format = await pointFormat(input);
  if (format === undefined) return undefined;
  if (format.name === 'geoparquet' && options.geometryColumn === undefined && (await isPlainTable(input, names))) {
    return undefined;
  }
  return openLayer(input, { ...options, format: format.name }, { noun: 'point', arePoints: true });
}

async function pointFormat(input: LayerInput): Promise<PolygonFormat | undefined> {
  try {
    const format = await finished(formatOf(input));
    return format.hasPoints === true ? format : undefined;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'format/unknown-layer') return undefined;
    throw error;
  }
}

/** Whether a Parquet file has columns of coordinates, or no geometries. */
async function isPlainTable(input: LayerInput, names: CoordinateNames): Promise<boolean> {
  const [{ readFooter }, { geometryColumnOf }] = await Promise.all([
    import('../tables/parquet/parquet.ts'),
    import('./geoparquet-metadata.ts'),
  ]);
  const footer = await readFooter(layerBytes(input));
  const there = new Set(footer.fields.map(({ field }) => field.name.toLowerCase()));
  if (names.every((wanted) => wanted.some((name) => there.has(name)))) return true;
  return geometryColumnOf(footer, undefined, input.file) === undefined;
}

/** A table of points: of a file of a table, or of a layer, whose system is known or not. */
export type PointTable = Omit<TableFile, 'format'> & {
  readonly layer?: Pick<PolygonLayer, 'crs'> | undefined;
};

/**
 * The points of a layer as a table, whose columns are `lon` and `lat`, or `x` and `y` if its system has no degrees, and the
 * property `id` as text, if it is given. Records without a point have NaN.
 */
export function pointTable(layer: PolygonLayer, id: string | undefined): PointTable {
  const [x, y] = isGeographicCrs(layer.crs) ? ['lon', 'lat'] : ['x', 'y'];
  if (id === x || id === y) {
    throw new UsageError('usage/repeated-column', `The points have coordinates called "${id}" already.`, {
      remedy: 'Name the points by another property.',
      place: { file: layer.file },
    });
  }
  const field = (name: string | undefined) => ({ type: 'f64', name: name!, nullable: false }) as const;
  const named = id === undefined ? [] : [{ type: 'string', name: id, nullable: false } as const];
  let notes: TableFile['notes'] = [];
  const codes = new Map<string, number>();
  const dictionary: string[] = [];
  const codeOf = (name: string): number => {
    const known = codes.get(name);
    if (known !== undefined) return known;
    codes.set(name, dictionary.length);
    return dictionary.push(name) - 1;
  };
  return {
    file: layer.file,
    layer,
    fields: [field(x), field(y), ...named],
    unread: [],
    get notes() {
      return notes;
    },
    rows: undefined,
    async *batches({ signal } = {}) {
      const batches = layer.batches(signal);
      let first = 0;
      for await (const { zones } of batches) {
        const rows = zones.names.length;
        const coordinates = coordinatesOf(zones);
        const columns: Record<string, HostColumn> = {
          [x!]: { type: 'f64', values: coordinates.x },
          [y!]: { type: 'f64', values: coordinates.y },
        };
        if (id !== undefined) {
          columns[id] = { type: 'string', codes: Uint32Array.from(zones.names, codeOf), dictionary };
        }
        yield { first, rows, columns };
        first += rows;
      }
      notes = batches.notes();
    },
    close: async () => {},
  };
}

/** The coordinates of each record of a batch of points; NaN where it has none. */
function coordinatesOf({ polygons: { polygonRings, x, y } }: PointBatch): { x: Float64Array; y: Float64Array } {
  const rows = polygonRings.length - 1;
  if (x.length === rows) return { x, y };
  const of = (values: Float64Array): Float64Array =>
    Float64Array.from({ length: rows }, (_, row) =>
      polygonRings[row] === polygonRings[row + 1] ? Number.NaN : values[polygonRings[row]!]!,
    );
  return { x: of(x), y: of(y) };
}

/** Polygons of one vertex or none, so that rings and vertices have the same numbers. */
type PointBatch = { readonly polygons: { polygonRings: Uint32Array; x: Float64Array; y: Float64Array } };
