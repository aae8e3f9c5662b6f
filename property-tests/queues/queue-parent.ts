// A program of the tests of queues that runs chores. Its arguments are the settings of the queue, the id of the run, and
// what makes the chores. It prints the code of the error, or nothing.
import { redisQueue } from '../../queues/index.ts';
import { onQueue, Random, someChores } from './chores.ts';
import { chore } from './queue-functions.ts';

const { settings, id, seed, count } = JSON.parse(process.argv[2]!);
const queue = await redisQueue(settings);
const chores = someChores(new Random(seed), count);
const jobId = ({ value }: { readonly value: number }): string => `c${value}`;
try {
  await onQueue(queue, chore, chores, { id, jobId, lanes: count });
} catch (error) {
  process.stdout.write((error as { readonly cause: { readonly code: string } }).cause.code);
} finally {
  await queue.close();
}
