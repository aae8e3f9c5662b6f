import { someZones, type Zones } from '../../algorithms/geometry/polygons.ts';
import { type AnyHistogram, aHistogram } from '../../algorithms/zonal/types.ts';
import { requireArguments, requireOptions } from '../../primitives/checks/arguments.ts';
import { ArgumentError } from '../../primitives/checks/errors.ts';
import { aText, aWhole, type FieldKinds } from '../../primitives/checks/kinds.ts';
import { someAttributes } from '../polygons/attribute-cells.ts';
import { flatgeobufWriter } from '../polygons/write/flatgeobuf.ts';
import { geojsonWriter } from '../polygons/write/geojson.ts';
import type { LayerWriter, MakeLayerWriter } from '../polygons/write/layer-writer.ts';
import type { Rows } from '../tables/write/text-writers.ts';
import { statisticsTable, type ZonalRows } from './zonal-table.ts';

const OPTIONS: FieldKinds<ZonalRows> = { raster: aText, band: aWhole(1), attributes: someAttributes };

/**
 * Writes the zones as GeoJSON (RFC 7946), with the statistics of each as its properties: those of `statisticsCsv`, under
 * the same names.
 *
 * Every zone is a feature, in input order, also one outside the raster; a statistic that is empty in CSV is null, and so
 * is the geometry of a zone without rings. Integers beyond 2^53 and infinite numbers are texts. Coordinates have all
 * digits. Outlines are counterclockwise, and holes clockwise. A system of coordinates other than longitudes and latitudes
 * of WGS 84 is named by the member `crs`, as GDAL reads and writes it; one without a code, by its well-known text.
 * Deterministic. O(vertices); the text is generated
 * in chunks of about 64 KiB.
 *
 * @throws ArgumentError `zonal/no-statistics` if the histogram has no statistics, `zonal/other-zones` if it is of other
 * zones.
 * @example
 * const triangle = '{ "type": "Polygon", "coordinates": [[[8.6, 46.3], [8.7, 46.3], [8.7, 46.4]]] }';
 * const { zones } = parseZones(triangle);
 * const raster = await openGeoTiff('examples/relief.tif');
 * const histogram = await zonalHistogram(ctx, { zones, raster, binning: { kind: 'none' }, statistics: ['count'] });
 * await raster.close();
 * const { features } = JSON.parse([...statisticsGeoJson(histogram, zones)].join(''));
 * features[0].properties; // { zone: '0', count: 5786 }
 */
export function statisticsGeoJson(
  histogram: AnyHistogram,
  zones: Zones,
  options: ZonalRows = {},
): Generator<string, void, undefined> {
  return layer('statisticsGeoJson', geojsonWriter, histogram, zones, options) as Generator<string, void, undefined>;
}

/**
 * Writes the zones as FlatGeobuf (https://flatgeobuf.org, version 3), with the statistics of each as its attributes, like
 * {@link statisticsGeoJson}. Numbers have types, so that all digits and infinite numbers are kept; what is null has no
 * value. A layer with a zone of several parts has multipolygons only. There is no spatial index, because features keep the
 * order of the zones.
 *
 * @throws ArgumentError `zonal/no-statistics` if the histogram has no statistics, `zonal/other-zones` if it is of other
 * zones.
 * @example
 * const triangle = '{ "type": "Polygon", "coordinates": [[[8.6, 46.3], [8.7, 46.3], [8.7, 46.4]]] }';
 * const { zones } = parseZones(triangle);
 * const raster = await openGeoTiff('examples/relief.tif');
 * const histogram = await zonalHistogram(ctx, { zones, raster, binning: { kind: 'none' }, statistics: ['count'] });
 * await raster.close();
 * [...statisticsFlatGeobuf(histogram, zones)].length; // 2
 */
export function statisticsFlatGeobuf(
  histogram: AnyHistogram,
  zones: Zones,
  options: ZonalRows = {},
): Generator<Uint8Array, void, undefined> {
  return layer('statisticsFlatGeobuf', flatgeobufWriter, histogram, zones, options) as Generator<Uint8Array>;
}

function layer(
  name: string,
  writerOf: MakeLayerWriter,
  histogram: AnyHistogram,
  zones: Zones,
  options: ZonalRows,
): Generator<string | Uint8Array, void, undefined> {
  requireArguments(name, { histogram, zones }, { histogram: aHistogram, zones: someZones });
  requireOptions(name, OPTIONS, options);
  if (zones.names.length !== histogram.names.length) throw otherZones(zones.names.length, histogram.names.length);
  const { fields, rows } = statisticsTable(histogram, options);
  return chunksOf(writerOf(fields, zones), rows);
}

function* chunksOf(writer: LayerWriter, rows: Rows): Generator<string | Uint8Array> {
  yield writer.begin(rows);
  yield* writer.add(rows);
  if (writer.end !== undefined) yield writer.end();
}

function otherZones(zones: number, counted: number): ArgumentError {
  return new ArgumentError('zonal/other-zones', 'The zones are not those of the histogram.', {
    ...{ expected: `${counted} zones`, got: `${zones}` },
    remedy: 'Give the zones that were counted.',
  });
}
