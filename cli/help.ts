import { DEVICES_SPECS, ZONAL_SPECS } from './arguments.ts';
import type { OptionSpec } from './command-line.ts';
import { COMPARE_SPECS } from './compare-arguments.ts';
import { COLUMNS_MEAN } from './devices.ts';

/** The page of `quadrille --help`. */
export const MAIN_HELP = `quadrille: data-parallel primitives for spatial data

  quadrille zonal       histograms and statistics of a raster's cells in polygons
  quadrille compare     two sets of polygons of the same image: how alike they are
  quadrille track       cells in a video, found and followed
  quadrille neighbours  nearest points, or all within a distance, of points in a table
  quadrille index       sets of polygons as a quadtree in a file, and questions to it
  quadrille table       questions to a table: rows, groups and what they come to
  quadrille devices     what can run here, and how exactly
  quadrille bench       how fast primitives and pipelines are here, beside others that do the same
  quadrille tune        finds the tuning of WebGPU kernels that is fastest here
  quadrille --version
  quadrille COMMAND --help

Exit codes: 0 done, 1 failed while running, 2 bad usage or input; stopped by a signal: 129 by SIGHUP (its terminal was
closed), 130 by SIGINT (Ctrl-C), 143 by SIGTERM.
QUADRILLE_DEBUG=1 shows where an error arose.
`;

/** The page of `quadrille zonal --help`. */
export const ZONAL_HELP: string = `quadrille zonal --zones FILE --raster FILE (--bins LO:HI:WIDTH | --edges A,B,C… | --unique) [options]
quadrille zonal --zones FILE --raster FILE --stats FILE [options]

Counts, for every zone, the raster cells whose centre lies in it, by value. Cells without data and values outside the
bins are counted apart, so that the counts of a zone add up to its cells. A zone is the union of its parts, the polygons of
a multipolygon, each of them even-odd; parts that overlap are noted. Cells have no data where their value is NaN or the
file's nodata value, or where a mask of the file, a file .msk beside it or an alpha band is 0. Bins, statistics and unique
values are in the units of the file's scale and offset, where it has them.

${describe(ZONAL_SPECS)}

What is written:
  --out    CSV rows zone,lower,upper,count: a row for every bin of a zone that is not empty, then rows
           zone,nodata,,count and zone,below,,count and zone,above,,count where there are such cells.
           A bin holds lower <= value < upper. With --unique both are the value. Infinite values are below or above.
           A zone without cells has no row.
  --stats  a row for every zone, also for one without cells: zone,cells,nodata,min,max,mean,sum.
           min to sum are over all cells with data, those below and above the bins too; blank where there are none.
  Without --id, a zone without an id is named by its index in the file, from 0.

  quadrille zonal --zones counties.json --layer counties --raster ndvi.tif --bins 0:1:0.05 \\
    --out counties.csv --stats means.csv --plot counties.svg
`;

/** The page of `quadrille compare --help`. */
export const COMPARE_HELP: string = `quadrille compare A B [options]

Compares two sets of polygons of the same image, such as two segmentations: prints J′, the mean ratio of intersection to
union of all pairs of polygons with common area, and says on stderr how many polygons miss a counterpart and how many
match one to one. Areas are exact, in pixels: a pixel belongs to a polygon where its centre does, so that sloped edges are
sampled at the centres of pixels, and polygons along the grid keep their own area. Vertices between the corners of pixels
are moved to the nearest corner, which is noted; a smaller --pixel-size comes closer.

A and B are files, or folders with a file for every tile of the image; tiles of the same name are compared. They may be
GeoJSON, WKT, CSV with a column of WKT, lines of text as id x,y x,y …, label images (PNG), label volumes (NIfTI, slice by
slice) or COCO JSON, and need not be of the same format.

A polygon is the union of its parts, the polygons of a multipolygon or of a COCO segmentation, each of them even-odd; parts
that overlap are noted. With --fill even-odd, all rings of a polygon are taken together, and what two parts cover is outside.

${describe(COMPARE_SPECS)}

What is written:
  J′ on stdout, from 0 to 1; NaN where no pair has common area. With an output that is -, that instead.
  --out      figures of both sets, matches, histogram, tiles left out, notes.
  --pairs    tile,a,b,area_a,area_b,intersection,union,iou,matched: a row for every pair with common area.
  --tiles    tile,polygons_a,polygons_b,missing_a,missing_b,candidates,pairs,similarity,matches
  --missing  tile,set,id: set is a or b. A polygon smaller than any pixel is missing too.
  Precision is matches by polygons of B, recall matches by polygons of A: A is the truth, where one is.
  A tile of one set alone has all its polygons missing.

  quadrille compare human/ model/ --out figures.json --missing missing.csv --plot ratios.svg --report report.html
`;

/** The page of `quadrille devices --help`. */
export const DEVICES_HELP: string = `quadrille devices [--verbose | --json]

Lists what can run here: backends, adapters, limits, and whether f32 results are the same bytes as everywhere else.

${describe(DEVICES_SPECS)}

${COLUMNS_MEAN}
`;

/** The lines of a help page that say what options there are. */
export function describe(specs: readonly OptionSpec[]): string {
  const heads = specs.map(({ name, short, value }) => {
    const long = value === undefined ? `--${name}` : `--${name} ${value}`;
    return short === undefined ? long : `-${short}, ${long}`;
  });
  const width = Math.max(...heads.map((head) => head.length));
  return specs.map(({ help }, index) => `  ${heads[index]!.padEnd(width)}  ${help}`).join('\n');
}
