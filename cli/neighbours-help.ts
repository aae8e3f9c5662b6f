import { PLOT_PACKAGES } from '../formats/plot-packages.ts';
import { installCommand } from '../primitives/optional-packages.ts';
import { describe } from './command-line.ts';
import { NEIGHBOURS_SPECS } from './neighbours-arguments.ts';

/** The help text of `quadrille neighbours --help`. */
export const NEIGHBOURS_HELP: string = `quadrille neighbours POINTS [--queries FILE] (-k K | --radius R) [options]

Finds the nearest points of every query, or all points within a distance, exactly. It uses a tree for up to three
coordinates, and compares every query with all points for more coordinates and for the metrics cosine and inner. Without
--queries, the points themselves are the queries, and a point is its own neighbour only with --with-self.

POINTS and the file of queries are Parquet, Arrow IPC or CSV, recognised by their content. The points must fit in memory.
Queries are read, answered and written batch by batch, so there may be more of them than fit.

${describe(NEIGHBOURS_SPECS)}

Distances:
  Distances are computed in f32. Every operation is rounded, and the coordinates are taken in the order of --columns. Points at
  the same distance come in the order of their rows. So all backends write the same bytes.
  If coordinates have more digits than f32 holds, the median of each column is subtracted first (not for cosine and inner), and
  a note says so. A radius is rounded to f32 and compared as a power, such as its square for l2; it is refused if f32
  cannot hold that power.
  l2 is the Euclidean distance, l1 the sum of |δ|, max the maximum of |δ|, l3 the cube root of the sum of |δ|³, and so on;
  cosine is 1 − cos, inner the negated inner product. Longitudes and latitudes are treated as coordinates of a plane.

Output:
  --out    query,rank,id,distance with -k, with ranks from 1; query,id,distance with --radius, nearest first. Rows are in the order
           of the queries. query and id are row numbers from 0, or the columns that --query-id and --id name. If there are fewer
           than K points, a query has fewer than K rows.
  --plot   a histogram of the distances. It needs these packages: ${installCommand(PLOT_PACKAGES)}
  A run that fails writes nothing. A run stopped by Ctrl-C keeps the answers to the queries that were done, and says so.

Examples:
  quadrille neighbours stations.parquet -k 8 --id name --out nearest.csv --plot distances.svg
  quadrille neighbours stations.parquet --queries trips.parquet --query-columns start_lon,start_lat --radius 0.01 -o near.arrow
`;
