export type { QueueSettings } from './queue-settings.ts';
export type { QueueStatus, RunStatus, WorkerStatus } from './queue-status.ts';
export { type RedisQueueOptions, redisQueue } from './redis-queue.ts';
export { cancelRun, listRuns, type QueuePlace } from './runs.ts';
export { type ServeQueueOptions, serveQueue } from './serve-queue.ts';
export type { WorkerNews } from './serving-messages.ts';
