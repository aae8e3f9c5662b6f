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
