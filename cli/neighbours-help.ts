import { PLOT_PACKAGES } from '../formats/plot-packages.ts';
import { installCommand } from '../primitives/optional-packages.ts';
import { describe } from './command-line.ts';
import { NEIGHBOURS_SPECS } from './neighbours-arguments.ts';

/** The page of `quadrille neighbours --help`. */
export const NEIGHBOURS_HELP: string = `quadrille neighbours POINTS [--queries FILE] (-k K | --radius R) [options]

Finds the nearest points of every query, or all points within a distance, exactly: in one to three dimensions by a tree, in more
of them and by cosine and inner by looking at all points. Without --queries the points themselves are the queries, and none of
them is its own neighbour unless --with-self says so.

POINTS and the file of queries are Parquet, Arrow IPC or CSV, as their content tells. The points have to fit into the memory;
queries are read, searched for and written batch by batch, and may be more than fit.

${describe(NEIGHBOURS_SPECS)}

What is near:
  Distances are computed in f32, every operation rounded, coordinates in the order of --columns; equally far points come in the
  order of their rows. So the bytes are the same on every backend. Where coordinates have more digits than f32 holds, the median
  of each column is taken off first, as far as the metric is one of differences; this is noted. A radius is rounded to f32, and
  compared as a power, as in l2: where f32 has no such power, it is refused.
  l2 is the distance of Euclid, l1 the sum of |δ|, max the greatest |δ|, l3 the third root of the sum of |δ|³, and so on; cosine is
  1 − cos, inner the product with the other sign. Longitudes and latitudes are taken for coordinates of a plane.

What is written:
  --out    query,rank,id,distance with -k, ranks from 1; query,id,distance with --radius, nearest first. Rows are in the order of
           the queries. query and id are numbers of rows, from 0, or what --id and --query-id name. A query has fewer than K rows
           where there are fewer points.
  --plot   a histogram of the distances; it needs packages of its own: ${installCommand(PLOT_PACKAGES)}
  A run that fails writes nothing. One that is stopped by Ctrl-C keeps what came of the queries that were done, and says so.

  quadrille neighbours stations.parquet -k 8 --id name --out nearest.csv --plot distances.svg
  quadrille neighbours stations.parquet --queries trips.parquet --query-columns start_lon,start_lat --radius 0.01 -o near.arrow
`;
