/** Milliseconds that closing waits for a device that is still working, or for a standby that is still opening. */
export const CLOSE_LIMIT = 4000;

/** Whether some work ends, successfully or not, within a time. */
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
