import { shownUrl } from '../queues/connection.ts';
import { imported } from './imported.ts';
import type { QueueParts } from './queue.ts';

/** The functions that `quadrille queue` uses. Their code is imported when first needed. */
export const queueParts: QueueParts = {
  listRuns: imported(async () => (await import('../queues/index.ts')).listRuns),
  cancelRun: imported(async () => (await import('../queues/index.ts')).cancelRun),
  shownUrl,
};
