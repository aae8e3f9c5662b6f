import { describe } from './command-line.ts';
import { PASSWORD_HELP } from './queue-options.ts';
import { WORKER_SPECS } from './worker-arguments.ts';

/** The help text of `quadrille worker --help`. */
export const WORKER_HELP: string = `quadrille worker --queue URL --queue-folder DIR [options]

Does the work that others hand out on a queue: partitions of zonal --queue, and stages of graphs that programs place on other
processes. A queue has any number of workers, on any machine that sees the Redis server and the folder. Workers may start and
stop at any time; if one dies, others do its jobs.

${describe(WORKER_SPECS)}

${PASSWORD_HELP}

A job names the id of a module and a function that it exports, never a path or code. Modules of programs are loaded when the
worker starts. Start all workers of a queue with the same modules, and with the same version of quadrille.

With --gpu, the worker opens WebGPU on this GPU and checks which one it got. Identical GPUs need something that selects
one: Mesa's layer for Vulkan (Debian: mesa-vulkan-drivers), or only one device node that the worker sees. Start one worker
for each GPU.

SIGTERM and SIGINT (Ctrl-C) end the worker with exit code 0: it takes no more jobs, and finishes those in progress or, after 30
seconds, gives them back. A second signal ends it at once, and others do its jobs.

Examples:
  export QUADRILLE_QUEUE=redis://:PASSWORD@host:6379 QUADRILLE_QUEUE_FOLDER=/mnt/shared/run
  quadrille worker
  quadrille worker --gpu 1 --memory 16GB
  quadrille worker --backend workers --lanes 4 --module masks=./masks.mjs
`;
