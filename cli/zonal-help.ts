import { ZONAL_SPECS } from './arguments.ts';
import { describe } from './command-line.ts';

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
