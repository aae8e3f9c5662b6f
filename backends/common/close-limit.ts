/** Maximum time in milliseconds that `close` waits for a busy device or for a standby backend that is being opened. */
export const CLOSE_LIMIT = 4000;

/** Whether `work` settles, successfully or not, within the given time. */
export async function endsWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  const end = work.then(
    () => true,
    () => true,
  );
  const ended = await Promise.race([end, timeout]);
  clearTimeout(timer);
  return ended;
}
