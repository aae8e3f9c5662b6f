import type { TuningTable, WebGpuBackend } from '../backends/webgpu/index.ts';
import { defaultTuning } from '../backends/webgpu/tuning/tuning.ts';
import { tuningFor } from '../backends/webgpu/tuning/tuning-tables.ts';
import { differingMembers, type TuningAxis, tuningAxes } from '../bench/tune/axes.ts';
import { type SearchResult, searchTuning } from '../bench/tune/search.ts';
import { UsageError } from '../formats/usage-error.ts';
import { open } from '../on-node.ts';
import type { Context } from '../primitives/context/context.ts';
import { counted } from './grouped.ts';
import { Interrupted } from './interrupt.ts';
import { requireRoomForElements } from './memory.ts';
import { filesAmong, openContext, type Surroundings, stageRun } from './run-support.ts';
import { showProgress } from './shown-progress.ts';
import { writeToStdout } from './standard-output.ts';
import type { TuneOptions } from './tune-arguments.ts';
import { readTuning } from './tuning-file.ts';

/**
 * Runs `quadrille tune`: searches for the best tuning, and writes it. After Ctrl-C, it writes the best tuning found so
 * far.
 *
 * @throws {@link Interrupted}; errors of the functions it calls.
 */
export async function runTune(options: TuneOptions, surroundings: Surroundings): Promise<void> {
  const started = performance.now();
  const { log, signal, stdout } = surroundings;
  const axes = axesOf(options.only);
  requireRoomForElements(options.size ?? SOFTWARE_SIZE, options.memoryBytes);
  const files = filesAmong([options.out]);
  await using outputs = await stageRun([], files, surroundings);
  const { result, candidates } = await search(axes, options, surroundings, started);
  const text = `${JSON.stringify(entryOf(result), null, 2)}\n`;
  if (options.out === '-') await writeToStdout(stdout, [text], new AbortController().signal);
  else {
    await outputs.write(options.out, [text]);
    await outputs.commit();
  }
  const seconds = (performance.now() - started) / 1000;
  log.summary({
    lines: [
      `${counted(candidates, 'candidate')}, ${seconds.toFixed(1)} s on ${result.info.description || result.info.vendor}.`,
      ...(result.complete ? [] : ['Not all candidates were tried: give more --seconds.']),
      ...(files.length === 0 ? [] : [`Wrote ${files.join(', ')}.`]),
    ],
    fields: { ...entryOf(result), candidates, seconds, complete: result.complete, outputs: files },
  });
  if (signal.aborted && signal.reason instanceof Interrupted)
    throw signal.reason.with('the best tuning so far was written');
}

function axesOf(only: readonly string[] | undefined): readonly TuningAxis[] {
  if (only === undefined) return tuningAxes;
  const isOf = (member: string, part: string): boolean => member === part || member.startsWith(`${part}.`);
  const stranger = only.find((part) => !tuningAxes.some(({ member }) => isOf(member, part)));
  if (stranger !== undefined) {
    throw new UsageError('usage/tuning-member', `A tuning has no part ${stranger}.`, {
      remedy: `There are ${tuningAxes.map(({ member }) => member).join(', ')}.`,
    });
  }
  return tuningAxes.filter(({ member }) => only.some((part) => isOf(member, part)));
}

/**
 * Default number of elements on a hardware GPU. `SOFTWARE_SIZE` is the default on a software adapter, which is a
 * thousand times slower.
 */
const DEFAULT_SIZE = 2 ** 24;
const SOFTWARE_SIZE = 2 ** 14;

async function search(
  axes: readonly TuningAxis[],
  options: TuneOptions,
  { log, signal }: Surroundings,
  started: number,
): Promise<{ result: SearchResult; candidates: number }> {
  const { adapter } = options;
  const openWith = (tuning: object): Promise<Context> =>
    openContext({ backend: 'webgpu', adapter, workers: undefined }, (where) => open({ ...where, tuning }));
  const start = options.tuning === undefined ? {} : await readTuning(options.tuning);
  const shown = showProgress(log, 'rounds');
  let candidates = 0;
  try {
    shown.expect(axes.reduce((sum, { values }) => sum + values.length, 0));
    const result = await searchTuning({
      open: openWith,
      start,
      axes,
      n: options.size ?? (await sizeFor(openWith)),
      rounds: options.rounds,
      deadline: started + options.seconds * 1000,
      signal,
      advance: () => shown.advance(1),
      tried(member, value, outcome) {
        candidates++;
        const told = typeof outcome === 'number' ? `${outcome.toFixed(3)} of the time` : outcome;
        log.note({ code: 'tune/tried', message: `${member} ${value}: ${told}` });
      },
    });
    return { result, candidates };
  } finally {
    shown.end();
  }
}

async function sizeFor(openWith: (tuning: object) => Promise<Context>): Promise<number> {
  await using context = await openWith({});
  return (context.backend as WebGpuBackend).info.isFallbackAdapter ? SOFTWARE_SIZE : DEFAULT_SIZE;
}

/**
 * Converts the result of a search to an entry for a table of devices. The entry contains each setting that differs from
 * the default tuning, from the tuning that the library already has for the device, or from both.
 */
function entryOf({ after, info }: SearchResult): TuningTable {
  const { vendor, architecture, description, device } = info;
  return {
    vendor,
    architecture,
    measured: { device: description || device, date: new Date().toISOString().slice(0, 10) },
    tuning: differingMembers(after, defaultTuning, tuningFor(info)),
  };
}
