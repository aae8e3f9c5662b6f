import { expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { Context, fn, map, u32 } from '../../../primitives/index.ts';

test('a program of many commands and reads is ended by what a timer or a signal says', async () => {
  await using context = new Context(createReferenceBackend());
  const column = context.column(new Uint32Array(2 ** 12));
  const next = fn({ x: u32 }, u32, ({ x }) => x.add(1));
  const reason = new Error('enough');
  setTimeout(() => context.abort(reason), 20);
  const endless = async (): Promise<void> => {
    for (;;) await context.read(map(next, { x: column }));
  };
  await expect(endless()).rejects.toBe(reason);
});
