import { BENCH_SPECS } from './bench-arguments.ts';
import { describe } from './command-line.ts';
import { TUNE_SPECS } from './tune-arguments.ts';

/** The help text of `quadrille bench --help`. */
export const BENCH_HELP: string = `quadrille bench [options]

Measures primitives, pipelines, algorithms and programs on this machine: on the backends of this library, and on peers (other
implementations of the same operations). Peers are plain JavaScript; C++ if g++ is installed; Thrust and CUB if nvcc and an
NVIDIA GPU are there; DuckDB, Arquero and luma.gl if @duckdb/node-api, arquero and @luma.gl/gpgpu are installed. Every answer
is compared with the reference before it is timed. All candidates take turns in every round, so that other load on the
machine affects them alike.

${describe(BENCH_SPECS)}

What is written:
  A table on stdout, or CSV or JSON with --csv or --json. With --out, files instead: the named ones, or all if none is named.
  A time is the median of one call in a batch, with the min and max. Times of a GPU come from its own clock where it has
  one, and exclude the host. "latency" is one call alone, until the host knows that it is done.
  Bytes are the fewest that must be read and written. "time ÷ ours" is the time divided by that of our fastest backend.
  Ctrl-C ends the run and writes what has been measured so far.

Examples:
  quadrille bench --only edges,components --sizes 2^24
  quadrille bench --only scan,sort --backends workers --sizes 2^10..2^24:2 --out results
  quadrille bench --experiment ./mine.mjs --only mine --types u32,f32 --csv
`;

/** The help text of `quadrille tune --help`. */
export const TUNE_HELP: string = `quadrille tune [options]

Finds the fastest tuning of the WebGPU kernels on this device. It measures the choices for one setting after the other and
keeps a choice that is clearly faster. Tuning never changes results, but tune checks that it does not.

${describe(TUNE_SPECS)}

What is written:
  One JSON entry on stdout, or in the file of --out: the device, and the settings that differ from the default.
  quadrille bench and quadrille tune take it with --tuning FILE, and programs with open({ tuning }). Other commands
  do not take it.

Examples:
  quadrille tune --out tuning.json
  quadrille bench --backends webgpu --tuning tuning.json
`;
