import { largestOf } from '../../primitives/host/extremes.ts';
import type { Trace } from '../definition/shape.ts';

/**
 * How busy a node was, for each side (CPU and GPU) and each time slice. A value is the busy fraction of the slice, from
 * 0 to 1, averaged over the lanes of the node.
 */
export interface Utilisation {
  readonly cpu: Float64Array;
  readonly gpu: Float64Array;
}

/** For each time slice, the number of items on an edge. */
export interface Fullness {
  /** Mean number of items, weighted by time. */
  readonly mean: Float64Array;
  readonly peak: Float64Array;
}

/**
 * Computes the utilisation of `node` in each of `slices` equal time slices of the trace. Spans whose `runsOn` is
 * `either` count as CPU work.
 */
export function utilisationOf({ started, ended, spans, shape }: Trace, node: string, slices: number): Utilisation {
  const own = spans.filter((span) => span.node === node);
  const lanes = largestOf(
    own.map(({ lane }) => lane + 1),
    shape.nodes.find(({ name }) => name === node)?.lanes ?? 1,
  );
  const width = (ended - started) / slices;
  const busy: Utilisation = { cpu: new Float64Array(slices), gpu: new Float64Array(slices) };
  for (const { start, end, runsOn } of own) {
    const side = busy[runsOn === 'gpu' ? 'gpu' : 'cpu'];
    eachSlice(start - started, end - started, width, slices, (slice, time) => {
      side[slice]! += time / (width * lanes);
    });
  }
  return busy;
}

/** Computes the number of items on `edge` in each of `slices` equal time slices of the trace. */
export function fullnessOf({ started, ended, occupancy }: Trace, edge: string, slices: number): Fullness {
  const samples = occupancy.filter((sample) => sample.edge === edge);
  const width = (ended - started) / slices;
  const mean = new Float64Array(slices);
  const peak = new Float64Array(slices);
  for (const [i, { time, items }] of samples.entries()) {
    const until = samples[i + 1]?.time ?? ended;
    eachSlice(time - started, until - started, width, slices, (slice, part) => {
      mean[slice]! += (items * part) / width;
      peak[slice] = Math.max(peak[slice]!, items);
    });
  }
  return { mean, peak };
}

/** Calls `callback` for each slice that overlaps the interval from `from` to `to`, with the length of the overlap. */
function eachSlice(
  from: number,
  to: number,
  width: number,
  slices: number,
  callback: (slice: number, time: number) => void,
): void {
  if (!(width > 0)) return;
  const [start, end] = [Math.max(0, from), Math.min(to, width * slices)];
  for (let slice = Math.floor(start / width); slice < slices && slice * width < end; slice++) {
    const time = Math.min(end, (slice + 1) * width) - Math.max(start, slice * width);
    if (time > 0) callback(slice, time);
  }
}
