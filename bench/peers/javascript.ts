import { type Candidate, hostRound } from '../harness/candidate.ts';
import { columnsOfResult, type HostResult } from '../harness/experiment.ts';

/** Plain loops over typed arrays on this thread: the `plain` functions of all experiments that have one. */
export function javascriptPeer(): Candidate {
  return {
    name: 'javascript',
    kind: 'peer',
    hardware: 'cpu',
    description: `plain typed arrays on one thread, Node ${process.versions.node}`,
    async prepare({ experiment, inputs, n, type }) {
      if (experiment.plain === undefined) return undefined;
      const run = (): HostResult => experiment.plain!(inputs, { n, type });
      return {
        answer: async () => columnsOfResult(run()),
        round: (calls) => hostRound(run, calls),
        close: async () => undefined,
      };
    },
    close: async () => undefined,
  };
}
