import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { requireTuning, type TuningChoice, type WebGpuBackend } from '../../../backends/webgpu/index.ts';
import { defaultTuning } from '../../../backends/webgpu/tuning/tuning.ts';
import { requireUsable } from '../../../backends/webgpu/tuning/tuning-check.ts';
import { chosenTuning } from '../../../backends/webgpu/tuning/tuning-choice.ts';
import { tuningFor, tuningTables } from '../../../backends/webgpu/tuning/tuning-tables.ts';
import { testAdapter } from '../../../backends/webgpu-node/index.ts';
import { builtInExperiments } from '../../../bench/experiments/index.ts';
import type { HostColumn } from '../../../bench/harness/experiment.ts';
import { differenceOf, type Job, makeJob, readResult, uploadInputs } from '../../../bench/harness/job.ts';
import { choiceOf, differingMembers, memberOf, tuningAxes } from '../../../bench/tune/axes.ts';
import { type SearchResult, searchTuning } from '../../../bench/tune/search.ts';
import { open } from '../../../index.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import { costlyCaseCount, someOf } from '../../cases.ts';
import { openWorkshop, type Workshop } from '../../support/cli-support.ts';
import { openTestBackend } from '../../support/webgpu-support.ts';

const adapter = testAdapter();

/** Partial tunings that `quadrille tune` may try. */
const choices: fc.Arbitrary<TuningChoice> = fc
  .subarray([...tuningAxes], { minLength: 1 })
  .chain((axes) =>
    fc.tuple(...axes.map(({ member, values }) => fc.constantFrom(...values).map((value) => choiceOf(member, value)))),
  )
  .map((parts) => parts.reduce<TuningChoice>((so, part) => chosenTuning(so as never, part), {}));

describe('tuning members', () => {
  test.each(tuningAxes.map(({ member, values }) => [member, values] as const))(
    '%s: its values are distinct and of the type of its default',
    (member, values) => {
      const kind = typeof memberOf(defaultTuning, member);
      expect(values.map((value) => typeof value)).toEqual(values.map(() => kind));
      expect(new Set(values).size).toBe(values.length);
    },
  );

  test.each(tuningAxes.map(({ member, experiments }) => [member, experiments] as const))(
    '%s: its experiments exist',
    (_, experiments) => {
      const names = builtInExperiments.map(({ name }) => name);
      expect(experiments.map(([name]) => name).filter((name) => !names.includes(name))).toEqual([]);
    },
  );

  test('that differ are enough to rebuild one tuning from another', () => {
    fc.assert(
      fc.property(choices, choices, (first, second) => {
        const [a, b] = [first, second].map((choice) => chosenTuning(defaultTuning, choice)) as [never, never];
        expect(chosenTuning(a, differingMembers(b, a))).toEqual(b);
        const either = differingMembers(b, a, defaultTuning);
        expect([chosenTuning(a, either), chosenTuning(defaultTuning, either)]).toEqual([b, b]);
        expect(differingMembers(a, a)).toEqual({});
        expect(requireTuning(JSON.parse(JSON.stringify(first)))).toEqual(first);
      }),
    );
  });

  test.each([
    [3, 'The data is not a tuning. Expected an object, got 3.'],
    [{ scam: {} }, "A tuning has no member 'scam'."],
    [{ scan: 4 }, "The member 'scan' of a tuning is invalid."],
    [{ scan: { items: '8' } }, "The member 'scan.items' of a tuning is invalid."],
    [{ scan: { items: 0.5 } }, "The member 'scan.items' of a tuning is invalid."],
    [{ sort: { sweep: { on: 1 } } }, "The member 'sort.sweep.on' of a tuning is invalid."],
    [{ blockBy: 'subgroup' }, "The member 'blockBy' of a tuning is invalid."],
    [{ reduce: { threads: 96 } }, "The member 'reduce.threads' of a tuning is invalid. Expected a power of two from 1"],
    [{ reduce: { groups: 0 } }, "The member 'reduce.groups' of a tuning is invalid. Expected a whole number from 1"],
    [{ scan: { tries: -1 } }, "The member 'scan.tries' of a tuning is invalid. Expected a whole number from 0"],
    [{ sort: { tile: 128 } }, "The member 'sort.tile' of a tuning is invalid. Expected a power of two from 256"],
  ])('%j are refused', (data, sentence) => {
    expect(() => requireTuning(data)).toThrow(sentence);
  });

  test.each([
    [{ histogram: { groups: 0 } }, 'histogram.groups'],
    [{ sort: { sweep: { keys: 5, parts: 2 } } }, 'sort.sweep.parts'],
    [{ reduce: { threads: 48 } }, 'reduce.threads'],
  ])('that would make kernels wrong are refused by the backend: %j', async (tuning, member) => {
    const context = open({ backend: 'webgpu', adapter, tuning });
    await expect(context).rejects.toMatchObject({ code: 'tuning/member', message: expect.stringContaining(member) });
  });

  test('are checked against the subgroup sizes of the device', () => {
    const tuning = chosenTuning(defaultTuning, { scan: { threads: 64 } });
    expect(requireUsable(tuning, { min: 4, max: 64 })).toBe(tuning);
    expect(() => requireUsable(tuning, { min: 4, max: 128 })).toThrow(
      "The member 'scan.threads' of a tuning is invalid",
    );
    const without = { ...tuning, subgroups: false };
    expect(requireUsable(without, { min: 4, max: 128 })).toBe(without);
  });

  test('of tables are valid, and each class of device has one entry', () => {
    for (const { tuning } of tuningTables) expect(requireTuning(tuning)).toBe(tuning);
    const classes = tuningTables.map(({ vendor, architecture }) => `${vendor} ${architecture}`);
    expect(new Set(classes).size).toBe(classes.length);
  });

  test('are taken from the defaults, then the device table, then the options', () => {
    const info = { vendor: 'nobody', architecture: '', isFallbackAdapter: false } as GPUAdapterInfo;
    expect(tuningFor(info)).toEqual(defaultTuning);
    const items = defaultTuning.scan.items + 1;
    expect(tuningFor(info, { scan: { items } })).toEqual({ ...defaultTuning, scan: { ...defaultTuning.scan, items } });
    const software = tuningFor({ ...info, isFallbackAdapter: true } as GPUAdapterInfo, { forEach: { threads: 32 } });
    expect(software.forEach).toEqual({ ...defaultTuning.forEach, threads: 32, items: 1 });
  });
});

describe('any tuning', () => {
  const all = [
    ['map', 'u32', 700],
    ['scan', 'u32', 3100],
    ['scan', 'f32', 2500],
    ['copyIf', 'u32', 3100],
    ['reduceByKey', 'u32', 2100],
    ['sortByKey', 'u32', 2100],
    ['histogram', 'u32', 5000],
  ] as const;
  // By default, four random jobs, because a software GPU takes seconds to compile the kernels of all.
  const jobs: Job[] = someOf(all, 4).map(([name, type, n]) =>
    makeJob(builtInExperiments.find((one) => one.name === name)!, { type, n } as never),
  );

  async function answers(context: Context): Promise<(readonly HostColumn[])[]> {
    const found: (readonly HostColumn[])[] = [];
    for (const { experiment, inputs, n, type } of jobs) {
      const at = { n, type, context };
      found.push(await readResult(context, await experiment.run(await uploadInputs(experiment, inputs, at), at)));
    }
    return found;
  }

  const triedWith = async (tuning: TuningChoice): Promise<(readonly HostColumn[])[]> => {
    await using context = await open({ backend: 'webgpu', adapter, tuning });
    return await answers(context);
  };

  test('gives the same bytes, or is refused', async () => {
    let agreed = 0;
    const property = fc.asyncProperty(choices, async (tuning) => {
      let found: (readonly HostColumn[])[];
      try {
        found = await triedWith(tuning);
      } catch (error) {
        // Codes of errors that may occur: a workgroup may exceed the device's limit, and a sort may not support the
        // number of parts.
        const codes = /^(device\/(validation|error|internal)|tuning\/member)$/;
        expect(error).toMatchObject({ code: expect.stringMatching(codes) });
        return;
      }
      for (const [i, answer] of found.entries()) {
        const { experiment, type } = jobs[i]!;
        const difference = differenceOf(answer, await jobs[i]!.expected(), 0);
        expect([experiment.name, type, difference]).toEqual([experiment.name, type, undefined]);
      }
      agreed++;
    });
    await fc.assert(property, { numRuns: costlyCaseCount(5, 1), examples: [[{}]] });
    expect(agreed).toBeGreaterThan(0);
  });
});

describe('the search for a tuning', () => {
  const axis = tuningAxes.find(({ member }) => member === 'histogram.tile')!;
  /** Runs the search on contexts that give wrong results for one tile size. */
  const search = (wrongTile: number, outcomes: unknown[] = []): Promise<SearchResult> =>
    searchTuning({
      async open(tuning) {
        const backend = await openTestBackend({ tuning });
        const wrong = backend.tuning.histogram.tile === wrongTile;
        const run: Backend['run'] = (command) => command.kind === 'histogram' || backend.run(command);
        return new Context(wrong ? { ...backend, counters: backend.counters, run } : backend);
      },
      start: { histogram: { tile: 2048 } },
      axes: [axis],
      n: 500,
      rounds: 1,
      deadline: Number.POSITIVE_INFINITY,
      signal: new AbortController().signal,
      advance: () => {},
      tried: (_, value, outcome) => void outcomes.push([value, outcome]),
    });

  test('skips tunings with wrong results', async () => {
    const outcomes: [number, unknown][] = [];
    const { after } = await search(8192, outcomes);
    expect(after.histogram.tile).not.toBe(8192);
    expect(outcomes.map(([value]) => value)).toContain(8192);
    for (const [value, outcome] of outcomes) {
      expect(outcome).toEqual(
        value === 8192 ? expect.stringMatching(/^wrong: histogram: 0 instead of/) : expect.any(Number),
      );
    }
  });

  test('does not start from wrong results', async () => {
    await expect(search(2048)).rejects.toMatchObject({ code: 'tune/wrong', got: expect.stringContaining('histogram') });
  });
});

describe('quadrille tune', () => {
  let shop: Workshop;
  beforeAll(async () => {
    shop = await openWorkshop();
  });
  afterAll(() => shop.remove());
  const QUICK = ['--adapter', adapter, '--size', '500', '--rounds', '1'];

  test('writes an entry that other commands and programs accept', async () => {
    const words = [...QUICK, '--only', 'forEach.items', '--out', '@found.json', '--json-log'];
    const { exitCode, stderr } = await shop.quadrille(['tune', ...words]);
    expect(exitCode).toBe(0);
    const events = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const tried = events.filter(({ code }) => code === 'tune/tried').map(({ message }) => message);
    await using plain = await open({ backend: 'webgpu', adapter });
    const before = (plain.backend as WebGpuBackend).tuning;
    const others = [1, 2, 4, 8].filter((value) => value !== before.forEach.items);
    expect(
      tried.filter((message) => /^forEach\.items \d: [\d.]+ of the time$/.test(message)).length,
    ).toBeGreaterThanOrEqual(others.length - 1);

    const { default: entry } = await import(shop.path('found.json'), { with: { type: 'json' } });
    expect(entry).toMatchObject({ vendor: expect.any(String), architecture: expect.any(String) });
    await using tuned = await open({ backend: 'webgpu', adapter, tuning: requireTuning(entry.tuning) });
    const after = (tuned.backend as WebGpuBackend).tuning;
    expect(differingMembers(before, after)).toEqual(
      after.forEach.items === before.forEach.items ? {} : { forEach: { items: before.forEach.items } },
    );
    expect(differingMembers(after, defaultTuning, before)).toEqual(entry.tuning);

    const benched = await shop.quadrille([
      'bench',
      '--backends',
      'webgpu',
      '--adapter',
      adapter,
      '--tuning',
      '@found.json',
      '--only',
      'map',
      '--sizes',
      '100',
      '--rounds',
      '1',
      '--peers',
      'none',
      '--csv',
      '--quiet',
    ]);
    expect([benched.exitCode, benched.stdout.split('\n').length]).toEqual([0, 3]);
  });

  test('starts no new measurement after its time is over', async () => {
    const { exitCode, stdout, stderr } = await shop.quadrille([
      'tune',
      ...QUICK,
      '--only',
      'reduce',
      '--seconds',
      '1e-9',
    ]);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout).measured.date).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(stderr).toContain('0 candidates');
    expect(stderr).toContain('Not all candidates were tried: give more --seconds.');
  });

  test.each([
    [['--only', 'scan.itens'], 'A tuning has no part scan.itens. There are forEach.threads,'],
    [['--out', 'tuning.csv'], '--out tuning.csv would hold JSON, which does not match .csv.'],
    [['--size', '2^40'], "--size: '2^40' is not a number of elements."],
    [['--tuning', '@missing.json'], 'missing.json'],
  ])('%j is refused', async (words, sentence) => {
    const { exitCode, stderr } = await shop.quadrille(['tune', '--adapter', adapter, ...words]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(sentence);
  });
});
