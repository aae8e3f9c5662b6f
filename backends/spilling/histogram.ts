import {
  capacityOf,
  type DeviceBuffer,
  type HistogramCommand,
  type Program,
} from '../../primitives/contract/backend.ts';
import type { HostWords } from './host-words.ts';
import { leavesProgram } from './leaves.ts';
import type { Spillable } from './places.ts';
import { planWindows, type RowWindow, type Windowing, type WindowMachine } from './windows.ts';

/**
 * Counts a histogram window by window (one range of indices after the other). If the histogram is segmented, every
 * window consists of whole segments. Otherwise the counts of all windows are added up.
 */
export async function histogramInWindows(machine: WindowMachine, command: HistogramCommand): Promise<void> {
  const { extent, program, bins, segment, histograms, inner: ranks, into } = command;
  const runs = histograms ?? (segment === undefined ? 1 : Math.ceil(capacityOf(extent) / segment));
  const words = bins * runs;
  const { memoryBytes, copyToHost, hostOf, keepOnHost } = machine.places;
  const onHost = 8 * words > memoryBytes / 2;
  const windowing = await planWindows(machine, {
    extent,
    programs: ranks === undefined ? [program] : [program, ranks.row],
    cells: onHost ? [] : [into.buffer],
    multiple: histograms === undefined ? (segment ?? 1) : 1,
    fixed: () => (segment === undefined || histograms !== undefined ? words : 0),
  });
  const count = (window: RowWindow, buffer: DeviceBuffer, word: number): void => {
    const [values, row] = window.programs() as [Program, Program?];
    machine.inner.run({
      kind: 'histogram',
      extent: window.rows,
      program: values,
      bins,
      segment,
      histograms,
      inner: ranks && { ...ranks, row: row! },
      into: { buffer, word },
    });
  };
  const segmented = histograms === undefined && segment !== undefined;
  const job: HistogramJob = {
    machine,
    windowing,
    count,
    words,
    wordsFor: (rows) => (segmented ? bins * Math.ceil(rows / segment) : words),
  };
  const target = into.buffer as Spillable;
  if (!onHost) {
    await (segmented ? countRuns(job, into.buffer, into.word) : addOnDevice(job, into.buffer, into.word));
    return;
  }
  await copyToHost(target);
  const host = hostOf(target);
  for (const { data } of host.pieces(into.word, words)) data.fill(0);
  await addOnHost(job, host, into.word);
  keepOnHost(target, host);
}

interface HistogramJob {
  readonly machine: WindowMachine;
  readonly windowing: Windowing;
  readonly count: (window: RowWindow, buffer: DeviceBuffer, word: number) => void;
  /** Number of words of all histograms. */
  readonly words: number;
  /** Number of words of the histograms that count `rows` rows, starting with the first row of a segment. */
  readonly wordsFor: (rows: number) => number;
}

/** Counts a segmented histogram: every window (range of rows) writes the histograms of its own segments. */
async function countRuns(
  { machine, windowing, count, words, wordsFor }: HistogramJob,
  into: DeviceBuffer,
  word: number,
): Promise<void> {
  const counted = wordsFor(windowing.length);
  machine.inner.write(into, word + counted, new Uint32Array(words - counted));
  await windowing.run((window) => {
    if (window.rows > 0) count(window, into, word + wordsFor(window.from));
  });
}

/** Counts the first window directly into the result, then adds the counts of each later window. */
async function addOnDevice(
  { machine, windowing, count, words }: HistogramJob,
  into: DeviceBuffer,
  word: number,
): Promise<void> {
  await windowing.run((window) => {
    if (window.from === 0) {
      count(window, into, word);
      return;
    }
    const own = window.take(words);
    count(window, own, 0);
    const counts = leavesProgram({ buffer: own, types: ['u32'], stride: words }, words);
    machine.inner.run({
      kind: 'forEach',
      extent: words,
      program: counts,
      stores: [{ buffer: into, offset: word, capacity: words, value: 0, combine: 'add' }],
    });
  });
}

async function addOnHost(
  { machine, windowing, count, wordsFor, words }: HistogramJob,
  host: HostWords,
  word: number,
): Promise<void> {
  const segmented = wordsFor(0) === 0;
  await windowing.run(async (window) => {
    const own = wordsFor(window.rows);
    if (own === 0) return;
    const buffer = window.take(own);
    count(window, buffer, 0);
    const counted = await machine.inner.read(buffer, 0, own);
    machine.places.report.spilledBytes += 4 * own;
    const first = word + (segmented ? wordsFor(window.from) : 0);
    for (const { at, data } of host.pieces(first, Math.min(own, words))) {
      for (let i = 0; i < data.length; i++) data[i]! += counted[at + i]!;
    }
  });
}
