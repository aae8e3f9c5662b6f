import { OutOfMemoryError } from '../../primitives/index.ts';
import { bytesText } from '../bytes-text.ts';

/** Bytes of a counter. Every zone has one counter for each bin. */
const BYTES_PER_COUNTER = 8;
/** Bytes of both edges of a bin. All zones share the edges. */
const BYTES_PER_EDGE = 16;

/**
 * Checks, before anything is allocated, that the histograms of all zones fit in memory.
 *
 * @throws OutOfMemoryError `zonal/memory-bytes` if they do not.
 */
export function requireRoom(zones: number, bins: number, memoryBytes: number): void {
  const bytes = bins * (zones * BYTES_PER_COUNTER + BYTES_PER_EDGE);
  if (bytes <= memoryBytes) return;
  throw new OutOfMemoryError('zonal/memory-bytes', 'The histograms of all zones do not fit in memory.', {
    expected: `at most ${bytesText(memoryBytes)}`,
    got: `${bytesText(bytes)} for ${zones} zones × ${bins} bins`,
    remedy:
      'Use fewer bins, count fewer zones at a time, or raise the limit (--memory; a quarter of it is used for this).',
  });
}
