import { describe } from './help.ts';
import { BUILD_SPECS, INFO_SPECS } from './index-arguments.ts';

/** The page of `quadrille index --help`. */
export const INDEX_HELP = `quadrille index COMMAND

Sets of polygons as quadrants in one quadtree, which is kept in a file and asked many questions at once.

  quadrille index build FILE…   makes a tree of files of polygons
  quadrille index info TREE     what is in a tree
  quadrille index COMMAND --help

  quadrille index build birds.geojson reserves.shp --levels 12 -o birds.maq --plot birds.svg
  quadrille index info birds.maq
`;

/** The page of `quadrille index build --help`. */
export const BUILD_HELP: string = `quadrille index build FILE… -o FILE.maq [options]

Splits the polygons of every file into quadrants, squares of a regular subdivision: those inside as large as they can be,
those on edges of the last level; builds one quadtree over them, and writes it, with the edges that exact answers need.

Every file is a set of polygons, called as the file is. Files may be GeoJSON (also with a feature a line), TopoJSON,
FlatGeobuf, Shapefiles or WKT lines, of any size. All are in one coordinate system. Longitudes and latitudes have the
domain -180,-180,360, so that trees can be compared; for others the files are read once before, for the square with a
side of a power of two that holds them all.

${describe(BUILD_SPECS)}

What is written:
  One line on stdout, or with --json an object: sets, polygons, vertices, quadrants, nodes, levels, bytes, seconds, peak
  memory. With an output that is -, that instead.

  quadrille index build counties.json --layer counties --id name --levels 12 -o counties.maq --plot counties.png
  quadrille index build parcels.shp lakes.fgb --assume-crs EPSG:25832 --domain 524288,5767168,131072 -o both.maq
`;

/** The page of `quadrille index info --help`. */
export const INFO_HELP: string = `quadrille index info TREE [options]

Tells what is in a tree: sets, domain, levels, nodes by level, entries, edges, bytes. The checksum is looked at.

${describe(INFO_SPECS)}

  quadrille index info counties.maq --json
  quadrille index info counties.maq --plot counties.svg --plot counties.png
`;
