import { describe } from './command-line.ts';
import { BUILD_SPECS, INFO_SPECS } from './index-arguments.ts';
import { QUERY_SPECS } from './index-query-arguments.ts';

/** The help text of `quadrille index --help`. */
export const INDEX_HELP = `quadrille index COMMAND

Stores sets of polygons as quadrants in one quadtree. The tree is a file, which answers many queries at once.

  quadrille index build FILE…   builds a tree from files of polygons
  quadrille index info TREE     says what is in a tree
  quadrille index query TREE    finds the polygons that contain points, touch windows, or share area with polygons
  quadrille index COMMAND --help

Examples:
  quadrille index build birds.geojson reserves.shp --levels 12 -o birds.maq --plot birds.svg
  quadrille index info birds.maq
  quadrille index query birds.maq --points sightings.csv -o ranges.csv
`;

/** The help text of `quadrille index build --help`. */
export const BUILD_HELP: string = `quadrille index build FILE… -o FILE.maq [options]

Splits the polygons of every file into quadrants, the squares of a regular subdivision: the largest that fit inside, and
squares of the last level along the edges. Builds one quadtree over all of them and writes it, together with the edges,
which exact answers need.

Each file becomes one set of polygons, named after the file. Formats are GeoJSON (also one feature per line), TopoJSON,
FlatGeobuf, Shapefiles, WKT and CSV of WKT; files may be of any size. All must have one coordinate system.

The domain is the square that is subdivided. For longitudes and latitudes it is -180,-180,360, so that trees can be
compared. For other coordinates the files are read once more, first, to find the smallest square that holds them all and
whose side is a power of two.

A polygon is the union of its parts: the polygons of a multipolygon, each filled by the even-odd rule. A note says if parts
overlap. With --fill even-odd, the rule applies to all rings of a polygon together, so that an area covered by two parts is
outside.

With --antimeridian unwrap, rings that pass one end of the longitudes go on at the other end. They are cut there, and the
vertices of the cut are moved to the nearest step of the domain, like all vertices.

${describe(BUILD_SPECS)}

What is written:
  One line on stdout, or with --json one object: sets, polygons, vertices, quadrants, nodes, levels, bytes, seconds and
  peak memory. If an output is -, stdout holds that output instead.

Examples:
  quadrille index build counties.json --layer counties --id name --levels 12 -o counties.maq --plot counties.png
  quadrille index build parcels.shp lakes.fgb --assume-crs EPSG:25832 --domain 524288,5767168,131072 -o both.maq
`;

/** The help text of `quadrille index info --help`. */
export const INFO_HELP: string = `quadrille index info TREE [options]

Verifies the checksum of a tree and says what is in it: sets, domain, levels, nodes per level, entries, edges and bytes.

${describe(INFO_SPECS)}

Examples:
  quadrille index info counties.maq --json
  quadrille index info counties.maq --plot counties.svg --plot counties.png
`;

/** The help text of `quadrille index query --help`. */
export const QUERY_HELP: string = `quadrille index query TREE (--points FILE | --windows FILE | --polygons FILE) [options]

Finds the polygons of a tree that contain each point, touch each window, or share area with each polygon. Files of queries may
be of any size, as they are answered in batches. Each is read twice, so it must be a file on disk.

${describe(QUERY_SPECS)}

What is written, one row for every query and each of its polygons, in the order of the queries:
  --points    point,set,polygon: exact on the tree's grid, to whose nearest steps polygons and points are moved. A step is
              the side of the domain / 2^30 (quadrille index info prints it): 37 mm at the equator for longitudes and
              latitudes. A point on a left or bottom edge is inside, one on a right or top edge outside.
  --windows   window,set,polygon,min,max: lower and upper bound of the shared area, in square units of the coordinates.
              If min is 0, they may share no area. Sides of windows are moved to the nearest steps of the domain.
              With --antimeridian unwrap, a window whose left is greater than its right crosses the antimeridian.
  --polygons  query,set,polygon,min,max: exactly those that share area. With --filter-only, also some that share none.
              A query polygon is the union of its parts, or with --fill even-odd all its rings filled together. Polygons
              of the tree keep the fill rule that it was built with.
  Query polygons may leave the domain of the tree; a note names those that do.
  --above     keeps rows whose max is above AREA, and adds a column sure: 1 if min is above it as well.
  --count     query,count or set,polygon,count: a row for each query or polygon, also where the count is 0.
  The column id or the feature's id names a query; --id names another column or property. Without one, a query is named
  by its number in the file, from 0; skipped records are numbered too.
  --points may be a layer: GeoJSON (also by lines), FlatGeobuf, a Shapefile (also in a ZIP), GeoParquet or GeoPackage, in the
  system of the tree. A record is a Point, or a MultiPoint of one; others are refused, or skipped with --on-bad-record skip.
  Tables of points and windows may be CSV, Parquet or Arrow.
  Columns of CSV are separated by commas, semicolons, tabs or bars. The names in the first line may be x, lon or longitude; y, lat
  or latitude; left, minx, xmin or west, and so on. Every row has as many fields as the first. Queries have the coordinate
  system of the tree.

Examples:
  quadrille index query counties.maq --points sightings.csv --count polygon -o sightings-by-county.csv
  quadrille index query birds.maq --windows tiles.csv --above 0.5 -o richness.csv
  quadrille index query birds.maq --polygons reserves.shp --id NAME -o birds-by-reserve.json
`;
