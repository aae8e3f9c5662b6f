import { type Candidate, hostTime } from '../harness/candidate.ts';
import { columnsOfResult } from '../harness/experiment.ts';

/** Plain loops over typed arrays on this thread: the `plain` functions of all experiments that have one. */
export function javascriptPeer(): Candidate {
  return {
    name: 'javascript',
    kind: 'peer',
    hardware: 'cpu',
    description: `plain typed arrays on one thread, Node ${process.versions.node}`,
    async prepare({ experiment, inputs, n, type }) {
      if (experiment.plain === undefined) return undefined;
      const run = (): unknown => experiment.plain!(inputs, { n, type });
      return {
        answer: async () => columnsOfResult(experiment.plain!(inputs, { n, type })),
        async round(calls) {
          const time = await hostTime(() => {
            for (let call = 0; call < calls; call++) run();
          });
          return { time: time / calls, clock: 'host' };
        },
        close: async () => undefined,
      };
    },
    close: async () => undefined,
  };
}
