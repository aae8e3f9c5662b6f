import { shownUrl } from '../queues/connection.ts';
import type { QueueParts } from './queue.ts';

/** The functions that `quadrille queue` uses. Their code is imported when first needed. */
export const queueParts: QueueParts = {
  async listRuns(place) {
    const { listRuns } = await import('../queues/index.ts');
    return listRuns(place);
  },
  async cancelRun(place, id) {
    const { cancelRun } = await import('../queues/index.ts');
    return cancelRun(place, id);
  },
  shownUrl,
};
