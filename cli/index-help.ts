import { describe } from './command-line.ts';
import { BUILD_SPECS, INFO_SPECS } from './index-arguments.ts';
import { QUERY_SPECS } from './index-query-arguments.ts';

/** The page of `quadrille index --help`. */
export const INDEX_HELP = `quadrille index COMMAND

Sets of polygons as quadrants in one quadtree, which is kept in a file and asked many questions at once.

  quadrille index build FILE…   makes a tree of files of polygons
  quadrille index info TREE     what is in a tree
  quadrille index query TREE    which polygons hold points, meet windows, or share area with polygons
  quadrille index COMMAND --help

  quadrille index build birds.geojson reserves.shp --levels 12 -o birds.maq --plot birds.svg
  quadrille index info birds.maq
  quadrille index query birds.maq --points sightings.csv -o ranges.csv
`;

/** The page of `quadrille index build --help`. */
export const BUILD_HELP: string = `quadrille index build FILE… -o FILE.maq [options]

Splits the polygons of every file into quadrants, squares of a regular subdivision: those inside as large as they can be,
those on edges of the last level; builds one quadtree over them, and writes it, with the edges that exact answers need.

Every file is a set of polygons, called as the file is. Files may be GeoJSON (also with a feature a line), TopoJSON,
FlatGeobuf, Shapefiles or WKT lines, of any size. All are in one coordinate system. Longitudes and latitudes have the
domain -180,-180,360, so that trees can be compared; for others the files are read once before, for the square with a
side of a power of two that holds them all.

A polygon is the union of its parts, the polygons of a multipolygon, each of them even-odd; parts that overlap are noted.
With --fill even-odd, all rings of a polygon are taken together, and what two parts cover is outside.

With --antimeridian unwrap, longitudes come round: what passes the end of the domain goes on at its beginning. A ring is cut
there, and the vertices of the cut are moved to the nearest step of the domain, as all are.

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

/** The page of `quadrille index query --help`. */
export const QUERY_HELP: string = `quadrille index query TREE (--points FILE | --windows FILE | --polygons FILE) [options]

Asks a tree: which polygons hold each point, meet each window, or share area with each polygon. Files may be of any size:
they are read and answered some at a time. They must be files on disk, as each is read twice.

${describe(QUERY_SPECS)}

What is written: a row for every query and polygon that it has to do with, in the order of the queries.
  --points    point,set,polygon: exact on the tree's grid, to whose nearest steps polygons and points are moved. A step is
              a 2^30th of the domain's side, as quadrille index info tells it: 37 mm at the equator for longitudes and
              latitudes. A point on a left or bottom edge is inside, on a right or top edge outside.
  --windows   window,set,polygon,least,most: the common area is from least to most, in square units of the coordinates;
              where least is 0 there may be none. Sides are moved to the nearest steps of the domain.
              With --antimeridian unwrap, a window whose left is above its right crosses the antimeridian.
  --polygons  query,set,polygon,least,most: exactly those that share area. With --filter-only some that do not.
              A query polygon is the union of its parts, or with --fill even-odd all its rings taken together; those of
              the tree are as they were when it was built.
  --above     leaves out where most is not above, and adds a column sure: 1 where least is, too.
  --count     query,count or set,polygon,count, of all, those without any as well.
  Queries are named by their column id or the feature's id, with --id by a column or property, else by their number in
  the file, from 0; records that are left out count.
  Columns are parted by commas, semicolons or tabs, and found by the names in the first line: x or lon or longitude,
  y or lat or latitude; left or minx or xmin or west, and so on. Coordinates are those of the tree.

  quadrille index query counties.maq --points sightings.csv --count polygon -o sightings-by-county.csv
  quadrille index query birds.maq --windows tiles.csv --above 0.5 -o richness.csv
  quadrille index query birds.maq --polygons reserves.shp --id NAME -o birds-by-reserve.json
`;
