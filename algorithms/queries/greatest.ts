import { type Column, type Context, maximum, reduce, u32 } from '../../primitives/index.ts';

/** The greatest of some numbers, 0 where there are none. Waits for the device once. */
export async function greatest(context: Context, numbers: Column<'u32'>): Promise<number> {
  const most = reduce(numbers, maximum(u32));
  const [number] = await context.read(most).finally(() => context.dispose(most));
  return number!;
}
