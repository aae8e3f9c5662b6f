import { DEFAULT_NAMES, STATISTICS_DESCRIBED } from '../algorithms/zonal/zone-statistics.ts';
import { describe } from './command-line.ts';
import { PASSWORD_HELP } from './queue-options.ts';
import { ZONAL_SPECS } from './zonal-arguments.ts';

/** The options on the first page of help, which is one screen, and their words there if their own are too long. */
const FIRST: { readonly [option: string]: string | undefined } = {
  ...{ zones: undefined, layer: undefined, id: undefined, 'include-field': undefined, band: undefined },
  raster: "GeoTIFF, https://…, .qbp; again or '*.tif' for several",
  merge: undefined,
  ...{ pixels: 'center (default), all-touched or fractional (by share)', nodata: undefined },
  stats: 'a row for each zone: CSV, .json, .arrow, .geojson, .fgb',
  ...{ stat: `names below (default cells,nodata,${DEFAULT_NAMES.join()})`, wide: undefined },
  ...{ bins: undefined, edges: undefined, unique: undefined },
  ...{ out: 'the histograms: CSV, .json or .arrow (default: stdout)', plot: undefined },
  memory: 'memory for data, such as 2GB (default: a quarter)',
};

const FIRST_SPECS = ZONAL_SPECS.filter(({ name }) => Object.hasOwn(FIRST, name));

/** The names of statistics. Those of weights are one on a page that is a screen. */
const NAMES: readonly string[] = [
  ...STATISTICS_DESCRIBED.map(([name]) => name).filter((name) => !name.startsWith('weighted_')),
  'weighted_…',
];

/** The text of `quadrille zonal --help`. */
export const ZONAL_FIRST_HELP: string = `quadrille zonal --zones FILE --raster FILE… --stats FILE [options]
quadrille zonal --zones FILE --raster FILE… --bins LO:HI:WIDTH [options]

Statistics or histograms of the raster cells in each zone. Zones are brought to
the coordinate system of the rasters, if proj4 and epsg-index are installed.

${describe(FIRST_SPECS.map((spec) => ({ ...spec, help: FIRST[spec.name] ?? spec.help })))}

Names for --stat: ${NAMES.join(' ')}

Example:
  quadrille zonal --zones counties.json --raster ndvi.tif \\
    --stats - --stat mean,median

quadrille zonal --help all lists all options, and says what is counted.
`;

/** The text of `quadrille zonal --help all`. */
export const ZONAL_HELP: string = `quadrille zonal --zones FILE --raster FILE… (--bins LO:HI:WIDTH | --edges A,B,C… | --unique) [options]
quadrille zonal --zones FILE --raster FILE… --stats FILE [options]

Counts, for every zone, the raster cells whose centre is inside, by value. Cells without data and values outside the bins are
counted separately, so that the counts of a zone add up to its cells.

A zone is the union of its parts: the polygons of a multipolygon, each filled by the even-odd rule. A note says if parts
overlap. A cell has no data if its value is NaN or the nodata value of the file, or if a mask of the file, a .msk file beside
it or an alpha band is 0 there. In a band of f32, values within rounding of the nodata value match too, as in GDAL; a note
counts them. Bins, statistics and unique values are scaled by the scale and offset of the file, if it has them. Nodata value,
scale, offset, placement and coordinate system in a side file of GDAL (FILE.aux.xml) win over those in the file. A world file
(.tfw, .tifw or .wld) gives the placement of a TIFF that states none. Without --raster-crs or --assume-crs, a raster in a
coordinate system without an EPSG code is refused, unless the zones state no system; so is one that states no system and is too
large for longitudes and latitudes, if the zones are in these.

Zones in another coordinate system than the rasters are brought to theirs by the optional packages proj4 and epsg-index, with
points added along edges, to within a tenth of a cell; a note says how. Systems that need a grid of shifts, or are not known
well enough, are refused by name. All rasters of a run must have one system. --assume-crs changes no coordinates.

Several rasters are given by --raster again, or by a pattern in quotes: * stands for any characters of a name, ? for one,
[a-c] for one of these, ** for any folders; names are sorted. Each raster has its own rows, with its path in a column raster
(in JSON, a field of every zone). With --merge they are parts of one surface and added up, on one grid or several. They must
agree in the type of cells, scale, offset and coordinate system. A cell whose centre lies in the extent of a raster named
earlier is left out, also where that raster has no data, so that no place counts twice; a note says how many were.

A GeoTIFF behind an address (https:// or http://) is read by ranges. Name and password, as in https://NAME:PASSWORD@HOST/PATH,
and the query are not shown in outputs and messages. Files beside it are not looked for.

${describe(ZONAL_SPECS)}

What is written:
  --out    CSV rows zone,lower,upper,count: a row for every bin of a zone that is not empty, then rows
           zone,nodata,,count and zone,below,,count and zone,above,,count if there are such cells.
           A bin holds lower <= value < upper. With --unique, lower and upper are the value. Infinite values are below or
           above. A zone without cells has no row.
  --stats  zone,cells,nodata,${DEFAULT_NAMES.join()}: a row for every zone, even without cells. Statistics are over all cells
           with data, including those below and above the bins; they are blank if there are none. With --stat, the columns
           after zone are those of the list, and so are the members of stats in JSON. With --pixels fractional, count comes
           before nodata, all counts but cells are areas in cells, and all statistics but min and max are weighted by them.
           GeoJSON (.geojson) and FlatGeobuf (.fgb) have the zones themselves, with these columns as attributes.
  Without --id, a zone without an id is named by its index in the file, from 0. Names are strings in JSON. The name of a whole
  number has all its digits, as those of H3 and S2 cells.
  Rows of several rasters without --merge begin with the column raster. They are written raster by raster. With --wide, --stats
  has one row for each zone, and columns STEM_mean, band_1_mean or STEM_band_1_mean for several rasters, bands or both. STEM is
  the name of the file without its ending, or its path if another file would have the same columns.

Statistics, for --stat; all are exact, and rounded once:
${STATISTICS_DESCRIBED.map(([name, meaning]) => `  ${name.padEnd(18)}${meaning}`).join('\n')}

On a queue:
  With --queue or QUADRILLE_QUEUE, workers count (quadrille worker), on any machine that sees the same files under the same
  paths. They have options --backend and --memory of their own. The outputs are those of one process. The id of the run is
  printed first. If this process is killed, --resume RUN with the same options goes on; if it ends in any other way, nothing
  is left on the queue or in the folder. A partition that fails is tried twice more, and then ends the run, or is left out
  with a note (--on-error skip, exit code 0).
  ${PASSWORD_HELP}

Example:
  quadrille zonal --zones counties.json --layer counties --raster ndvi.tif --bins 0:1:0.05 \\
    --out counties.csv --stats means.csv --plot counties.svg
`;
