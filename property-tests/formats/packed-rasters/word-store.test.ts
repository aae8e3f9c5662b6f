import { expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { wordMemory } from '../../../formats/rasters/packed/word-memory.ts';
import { storeWords } from '../../../formats/rasters/packed/word-store.ts';
import { Context } from '../../../primitives/context/context.ts';

const contexts = {
  'a context whose memory the host has': () => createReferenceBackend(),
  'a context that is short of memory': () =>
    createSpillingBackend(createReferenceBackend({ limits: { memoryBytes: 2 ** 16 } })),
  'a device that maps memory': () => ({ ...createReferenceBackend(), name: 'webgpu' as const }),
};

/** More than a piece of what a context without memory takes at once. */
const LENGTH = 2 ** 22 + 77;

test.each(Object.entries(contexts))('%s has the words that were written, and gives them back', async (_, open) => {
  const context = new Context(open());
  const { liveBytes } = context.backend.counters;
  const stored = await storeWords(LENGTH, wordMemory(), context, async (words) => {
    for (let at = 0; at < LENGTH; at++) words[at] = at ^ 0x5a5a5a5a;
    // What was written can be read again, as masks are.
    for (let at = 1; at < LENGTH; at += 1000) words[at] = words[at - 1]! + 1;
  });
  const column = stored.on(context);
  const read = await context.read(column);
  let wrong = 0;
  for (let at = 0; at < LENGTH; at++) {
    const expected = at % 1000 === 1 ? ((at - 1) ^ 0x5a5a5a5a) + 1 : at ^ 0x5a5a5a5a;
    if (read[at] !== expected >>> 0) wrong++;
  }
  expect([read.length, wrong]).toEqual([LENGTH, 0]);
  stored.release();
  if (context.backend.name === 'webgpu') context.dispose(column);
  expect(context.backend.counters.liveBytes).toBe(liveBytes);
  await context.close();
});

test.each(Object.entries(contexts))('%s: an error of the writer is told, and the memory is free', async (_, open) => {
  const context = new Context(open());
  const { liveBytes } = context.backend.counters;
  const failing = storeWords(LENGTH, wordMemory(), context, async () => {
    throw new RangeError('unreadable');
  });
  await expect(failing).rejects.toThrow(new RangeError('unreadable'));
  expect(context.backend.counters.liveBytes).toBe(liveBytes);
  await context.close();
});
