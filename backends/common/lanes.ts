/**
 * Runs a task for every item, at most `lanes` at a time. Settles when all started tasks have settled. After a task
 * fails, no other is started, and the first failure is thrown.
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
