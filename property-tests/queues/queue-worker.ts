// A worker process of the tests of queues. Its arguments are the settings of the queue as JSON.
import { serveQueue } from '../../queues/index.ts';
import * as functions from './queue-functions.ts';

const settings = JSON.parse(process.argv[2]!);
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
await serveQueue({
  ...settings,
  modules: process.env.QUADRILLE_WITHOUT_MODULES === undefined ? { own: async () => functions } : {},
  signal: stop.signal,
  onNews: (news) => process.stdout.write(`${JSON.stringify(news)}\n`),
});
