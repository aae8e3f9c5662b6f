import { describe } from './command-line.ts';
import { QUEUE_CANCEL_SPECS, QUEUE_LIST_SPECS } from './queue-arguments.ts';
import { PASSWORD_HELP } from './queue-options.ts';

/** The help text of `quadrille queue --help`. */
export const QUEUE_HELP = `quadrille queue COMMAND

Says what happens on a queue, which quadrille worker serves.

  quadrille queue list        lists the runs and the workers
  quadrille queue status RUN  says how far a run is
  quadrille queue cancel RUN  ends a run
  quadrille queue COMMAND --help

Examples:
  export QUADRILLE_QUEUE=redis://localhost:6379
  quadrille queue list
  quadrille queue status r024d88b31d --json
`;

/** The help text of `quadrille queue list --help`. */
export const QUEUE_LIST_HELP: string = `quadrille queue list [options]

Lists the runs on a queue, with the numbers of their jobs that were handed out so far, are done and have failed, and the workers
that serve it now. A run is orphaned if the program that it belongs to was killed: take it over (zonal --resume RUN) or cancel it.

${describe(QUEUE_LIST_SPECS)}

${PASSWORD_HELP}
`;

/** The help text of `quadrille queue status --help`. */
export const QUEUE_STATUS_HELP: string = `quadrille queue status RUN [options]

Says how far a run is. RUN is the id that the program printed, and that quadrille queue list shows.

${describe(QUEUE_LIST_SPECS)}

${PASSWORD_HELP}
`;

/** The help text of `quadrille queue cancel --help`. */
export const QUEUE_CANCEL_HELP: string = `quadrille queue cancel RUN [options]

Ends a run: its jobs are taken back, and the program that it belongs to stops with an error. What an orphaned run has left on the
server is removed, and in the folder of the queue, if it is named.

${describe(QUEUE_CANCEL_SPECS)}

${PASSWORD_HELP}
`;
