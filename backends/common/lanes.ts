/**
 * Runs a task for every item, at most `lanes` tasks at a time. After the first failure no more tasks are started, and
 * that failure is thrown once all running tasks have settled.
 */
export async function inLanes<T>(items: Iterable<T>, lanes: number, task: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]();
  let failed: { readonly reason: unknown } | undefined;
  const lane = async (): Promise<void> => {
    while (failed === undefined) {
      try {
        const next = left.next();
        if (next.done === true) return;
        await task(next.value);
      } catch (reason) {
        failed ??= { reason };
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  if (failed !== undefined) throw (failed as { readonly reason: unknown }).reason;
}
