import { metricsHelp } from '../algorithms/neighbours/metrics.ts';
import { PLOT_PACKAGES } from '../formats/charts/plot-packages.ts';
import { installCommand } from '../primitives/host/optional-packages.ts';
import { describe } from './command-line.ts';
import { NEIGHBOURS_SPECS } from './neighbours-arguments.ts';

/** The help text of `quadrille neighbours --help`. */
export const NEIGHBOURS_HELP: string = `quadrille neighbours POINTS [--queries FILE] (-k K | --radius R) [options]

Finds the nearest points of every query, or all points within a distance, exactly. It uses a tree for up to three
coordinates, and compares every query with all points for more coordinates and for the metric inner. Without
--queries, the points themselves are the queries, and a point is its own neighbour only with --with-self.

POINTS and the file of queries are Parquet, Arrow IPC or CSV, recognised by their content, or a layer of points: GeoJSON (also
by lines), FlatGeobuf, a Shapefile (also in a ZIP), GeoParquet or GeoPackage. A record of a layer is a Point, or a MultiPoint
of one; others are refused, or skipped with --on-bad-record skip. Heights are not used. The points must fit in memory.
Queries are read, answered and written batch by batch, so there may be more of them than fit.

${describe(NEIGHBOURS_SPECS)}

Distances:
  Neighbours have the order of real arithmetic on the given coordinates: f64, and whole numbers of 64 bits. Distances are f64,
  within one ulp; those of cosine and sphere have a few rounding errors (sphere: some 1e-9 m), and sphere ranks by them. Points
  at the same distance come in the order of their rows. --radius R finds the points to which -k gives a distance of at most R.
  All backends write the same bytes.
  The metrics, where δ are the differences of the coordinates:
${metricsHelp()}
  sphere has the mean radius of the Earth, 6,371,008.8 m; --radius is in metres, too. All other metrics treat longitudes and
  latitudes as coordinates of a plane, and a note says so.

What is written:
  --out    query,rank,id,distance with -k, with ranks from 1; query,id,distance with --radius, nearest first. Rows are in the
           order of the queries. query and id are row numbers from 0, or the columns that --query-id and --id name. If there
           are fewer than K points, a query has fewer than K rows.
  --plot   a histogram of the distances. It needs these packages: ${installCommand(PLOT_PACKAGES)}
  A run that fails writes nothing. A run stopped by Ctrl-C keeps the answers to the queries that were done, and says so.

Examples:
  quadrille neighbours stations.parquet -k 8 --id name --out nearest.csv --plot distances.svg
  quadrille neighbours stations.parquet --metric sphere --radius 500 --queries trips.parquet --query-columns from_x,from_y
`;
