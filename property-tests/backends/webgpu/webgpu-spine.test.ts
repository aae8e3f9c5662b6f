import { expect } from 'vitest';
import type { DispatchRecorder } from '../../../backends/webgpu/launches/recorder.ts';
import type { BufferPart } from '../../../backends/webgpu/memory/part.ts';
import { createSpine } from '../../../backends/webgpu/memory/spine.ts';
import type { Counters } from '../../../primitives/contract/backend.ts';
import { fc, test } from '../../law-test.ts';

/**
 * Number of epochs (numbers of kernel runs) that a word of the spine can represent. The spine is the memory with which
 * the workgroups of single-pass kernels communicate.
 */
const EPOCHS = 2 ** 14;

/**
 * Sequences of kernels. Each kernel has the number of words of the spine that it needs, and the number of its
 * consecutive runs.
 */
const uses = fc.array(
  fc.record({ words: fc.integer({ min: 1, max: 5000 }), runs: fc.integer({ min: 1, max: EPOCHS / 4 }) }),
  { minLength: 1, maxLength: 60 },
);

test.prop([uses])('no two runs use the same epoch between two clears of the spine', (all) => {
  const used = new Map<BufferPart, number>();
  const recorder = {
    begin() {},
    watched: (make: () => unknown) => make(),
    made: (part: BufferPart) => used.set(part, 0),
    clear: (part: BufferPart) => used.set(part, 0),
    destroyLater: (part: BufferPart) => used.delete(part),
  } as unknown as DispatchRecorder;
  const device = { createBuffer: () => ({}) } as unknown as GPUDevice;
  const spine = createSpine(device, recorder, { allocations: 0 } as unknown as Counters);
  for (const { words, runs } of all) {
    const { memory, epoch } = spine.beginMany(words, runs);
    const [part] = memory.parts;
    expect(memory.words).toBeGreaterThanOrEqual(words);
    expect(epoch).toBe(used.get(part!)! + 1);
    used.set(part!, epoch + runs - 1);
    expect(used.get(part!)).toBeLessThan(EPOCHS);
  }
});
