import { BENCH_SPECS } from './bench-arguments.ts';
import { describe } from './command-line.ts';
import { TUNE_SPECS } from './tune-arguments.ts';

/** The page of `quadrille bench --help`. */
export const BENCH_HELP: string = `quadrille bench [options]

Measures how fast primitives, pipelines and algorithms are here, on backends of this library and on peers that do the same:
plain JavaScript; C++ where there is g++; Thrust and CUB where there are nvcc and a card; DuckDB, Arquero and luma.gl
where @duckdb/node-api, arquero and @luma.gl/gpgpu are installed. Every answer is compared with the reference before it is timed. Then come
rounds in which all take turns, so that what disturbs the machine disturbs all of them alike.

${describe(BENCH_SPECS)}

What is written:
  A table on stdout, or CSV or JSON with --csv or --json; with --out, files instead, all of them or those that are named.
  Times are medians of a call out of a batch, with the least and the greatest: of GPUs by their own clock where they have
  one, without the host. "to done" is one call alone, until the host knows that it is done.
  Bytes are those that have to be read and written at least. "÷ ours" is the time by that of the fastest backend.
  Ctrl-C ends the run; what has been measured by then is written.

  quadrille bench --only scan,sort --backends workers --sizes 2^10..2^24:2 --out results
  quadrille bench --experiment ./mine.mjs --only mine --types u32,f32 --csv
`;

/** The page of `quadrille tune --help`. */
export const TUNE_HELP: string = `quadrille tune [options]

Finds the tuning of WebGPU kernels that is fastest on this device: measures, member by member, what there is to choose from,
and keeps what is clearly faster. Results of kernels are the same with any tuning, and compared all the same.

${describe(TUNE_SPECS)}

What is written:
  An entry as JSON on stdout, or with --out in a file: the device, and the members that are not the default. quadrille bench
  and quadrille tune take it with --tuning FILE, programs with open({ tuning }); other commands have no --tuning.

  quadrille tune --out tuning.json
  quadrille bench --backends webgpu --tuning tuning.json
`;
