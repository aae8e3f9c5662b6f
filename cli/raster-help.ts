import { describe } from './command-line.ts';
import { DECODE_SPECS, ENCODE_SPECS, RASTER_INFO_SPECS } from './raster-arguments.ts';

/** The help text of `quadrille raster --help`. */
export const RASTER_HELP = `quadrille raster COMMAND

Packs rasters in files (.qbp) that are smaller than GeoTIFFs and decoded in parallel. All commands that read a raster take
them in place of a GeoTIFF, and take addresses (https://…), which are read by ranges.

  quadrille raster encode FILE…   packs GeoTIFFs
  quadrille raster info FILE      says what is in a packed raster, and checks it
  quadrille raster decode FILE    makes a GeoTIFF of a packed raster, or of a part
  quadrille raster COMMAND --help

Examples:
  quadrille raster encode relief.tif -o relief.qbp
  quadrille raster info relief.qbp --check
  quadrille zonal --zones counties.json --raster relief.qbp --bins 0:4000:100
`;

/** The help text of `quadrille raster encode --help`. */
export const ENCODE_HELP: string = `quadrille raster encode FILE… -o FILE.qbp|FOLDER [options]

Packs GeoTIFFs. Cells are kept bit for bit, and so are the placement, the coordinate system, nodata value, scale, offset and
masks of the file, of its side file (FILE.aux.xml, FILE.msk) and of a world file. Cells are u8, i8, u16, i16, u32, i32 or f32;
those of 1, 2 and 4 bits are packed as u8, floats of 16 bits as f32; those of 64 bits are refused, as are rasters without a
placement. Cells that are rotated, sheared or mirrored are kept as they are; zonal refuses them, until gdalwarp makes them
upright.

Several files need a folder that exists; each packed raster has the name of its file. Either all of them are written or none.
A pattern in quotes ('relief/*.tif') names files as in zonal.

${describe(ENCODE_SPECS)}

Tiles that are smaller as they are, or constant, are coded so whatever the codec. Backends encode BQ-trees only, all to the
same bytes.

Examples:
  quadrille raster encode relief.tif -o relief.qbp
  quadrille raster encode land-cover.tif -o land-cover.qbp --codec auto
  quadrille raster encode tiles/*.tif -o packed/
  quadrille raster encode https://data.example.org/relief.tif -o relief.qbp
`;

/** The help text of `quadrille raster info --help`. */
export const RASTER_INFO_HELP: string = `quadrille raster info FILE [options]

Says what is in a packed raster: size, samples, placement, coordinate system; for each band its nodata value, scale, offset,
the smallest and the largest stored value, and how many tiles are stored in which way. The checksums of header, metadata and
directory are always verified, those of tiles with --check.

${describe(RASTER_INFO_SPECS)}

Examples:
  quadrille raster info relief.qbp
  quadrille raster info relief.qbp --check --json
`;

/** The help text of `quadrille raster decode --help`. */
export const DECODE_HELP: string = `quadrille raster decode FILE -o FILE.tif [options]

Makes a GeoTIFF with the same cells, placement, coordinate system, nodata value, scale, offset and mask: in tiles, compressed
by deflate with a predictor.

${describe(DECODE_SPECS)}

Examples:
  quadrille raster decode relief.qbp -o relief.tif
  quadrille raster decode relief.qbp -o part.tif --window 1000,2000,512,512
`;
