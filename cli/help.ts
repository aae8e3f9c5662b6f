/** The help text of `quadrille --help`. */
export const MAIN_HELP = `quadrille: data-parallel primitives for spatial data

  quadrille zonal       counts the cells of a raster in polygons: histograms and statistics
  quadrille raster      packs rasters in smaller files, which are decoded in parallel
  quadrille compare     compares two sets of polygons of the same image
  quadrille track       finds cells in a video and follows them
  quadrille neighbours  finds the nearest points of each point, or all points within a distance
  quadrille index       stores polygons in a file as a quadtree, and queries it
  quadrille table       filters, groups and aggregates the rows of a table
  quadrille worker      does work that other commands and programs hand out on a queue
  quadrille queue       lists the runs and workers of a queue, and ends runs
  quadrille devices     lists backends and adapters, their limits and their precision
  quadrille bench       measures primitives and pipelines, and compares them with other libraries
  quadrille tune        finds the fastest tuning of the WebGPU kernels on this device
  quadrille completion  prints a script that completes command lines in bash, zsh or fish
  quadrille --version
  quadrille COMMAND --help

Exit codes: 0 success, 1 failure while running, 2 wrong usage or input; after a signal: 129 by SIGHUP (the terminal was
closed), 130 by SIGINT (Ctrl-C), 143 by SIGTERM.

QUADRILLE_DEBUG=1 prints the stack of an error.
`;
