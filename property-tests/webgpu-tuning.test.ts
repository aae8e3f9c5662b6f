import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { requireTuning, type TuningChoice, type WebGpuBackend } from '../backends/webgpu/index.ts';
import { defaultTuning, tuningFor } from '../backends/webgpu/tuning.ts';
import { chosenTuning } from '../backends/webgpu/tuning-choice.ts';
import { tuningTables } from '../backends/webgpu/tuning-tables.ts';
import { testAdapter } from '../backends/webgpu-node/index.ts';
import { builtInExperiments } from '../bench/experiments/index.ts';
import type { HostColumn } from '../bench/harness/experiment.ts';
import { differenceOf, type Job, makeJob, readResult, uploadInputs } from '../bench/harness/job.ts';
import { choiceOf, differingMembers, memberOf, tuningAxes } from '../bench/tune/axes.ts';
import { open } from '../index.ts';
import type { Context } from '../primitives/context.ts';
import { openWorkshop, type Workshop } from './cli-support.ts';

const adapter = testAdapter();

/** Any tuning that `quadrille tune` may try, of some members. */
const choices: fc.Arbitrary<TuningChoice> = fc
  .subarray([...tuningAxes], { minLength: 1 })
  .chain((axes) =>
    fc.tuple(...axes.map(({ member, values }) => fc.constantFrom(...values).map((value) => choiceOf(member, value)))),
  )
  .map((parts) => parts.reduce<TuningChoice>((so, part) => chosenTuning(so as never, part), {}));

describe('members of tunings', () => {
  test.each(tuningAxes.map(({ member, values }) => [member, values] as const))(
    '%s is one, of the kind of its values',
    (member, values) => {
      const kind = typeof memberOf(defaultTuning, member);
      expect(values.map((value) => typeof value)).toEqual(values.map(() => kind));
      expect(new Set(values).size).toBe(values.length);
    },
  );

  test.each(tuningAxes.map(({ member, experiments }) => [member, experiments] as const))(
    '%s has experiments that there are',
    (_, experiments) => {
      const names = builtInExperiments.map(({ name }) => name);
      expect(experiments.map(([name]) => name).filter((name) => !names.includes(name))).toEqual([]);
    },
  );

  test('that differ are all that there is to a tuning beside another one', () => {
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
    [3, 'This is no member of a tuning.'],
    [{ scam: {} }, "'scam' is no member of a tuning."],
    [{ scan: 4 }, "'scan' is no member of a tuning."],
    [{ scan: { items: '8' } }, "'scan.items' is no member of a tuning."],
    [{ scan: { items: 0.5 } }, "'scan.items' is no member of a tuning."],
    [{ sort: { sweep: { on: 1 } } }, "'sort.sweep.on' is no member of a tuning."],
    [{ blockBy: 'subgroup' }, "'blockBy' is no member of a tuning."],
  ])('%j are refused', (data, sentence) => {
    expect(() => requireTuning(data)).toThrow(sentence);
  });

  test('of tables are members, and each class of device has one entry', () => {
    for (const { tuning } of tuningTables) expect(requireTuning(tuning)).toBe(tuning);
    const classes = tuningTables.map(({ vendor, architecture }) => `${vendor} ${architecture}`);
    expect(new Set(classes).size).toBe(classes.length);
  });

  test('are the default, then those of the device, then those that are wanted', () => {
    const info = { vendor: 'nobody', architecture: '', isFallbackAdapter: false } as GPUAdapterInfo;
    expect(tuningFor(info)).toEqual(defaultTuning);
    const items = defaultTuning.scan.items + 1;
    expect(tuningFor(info, { scan: { items } })).toEqual({ ...defaultTuning, scan: { ...defaultTuning.scan, items } });
    const software = tuningFor({ ...info, isFallbackAdapter: true } as GPUAdapterInfo, { forEach: { threads: 32 } });
    expect(software.forEach).toEqual({ threads: 32, items: 1 });
  });
});

describe('any tuning', () => {
  const jobs: Job[] = [
    ['map', 'u32', 700],
    ['scan', 'u32', 3100],
    ['scan', 'f32', 2500],
    ['copyIf', 'u32', 3100],
    ['reduceByKey', 'u32', 2100],
    ['sortByKey', 'u32', 2100],
    ['histogram', 'u32', 5000],
  ].map(([name, type, n]) => makeJob(builtInExperiments.find((one) => one.name === name)!, { type, n } as never));

  async function answers(context: Context): Promise<(readonly HostColumn[])[]> {
    const found: (readonly HostColumn[])[] = [];
    for (const { experiment, inputs, n, type } of jobs) {
      const at = { n, type, context };
      found.push(await readResult(context, await experiment.run(uploadInputs(experiment, inputs, at), at)));
    }
    return found;
  }

  test('gives the same bytes, or is refused by the device', async () => {
    let agreed = 0;
    const property = fc.asyncProperty(choices, async (tuning) => {
      await using context = await open({ backend: 'webgpu', adapter, tuning });
      let found: (readonly HostColumn[])[];
      try {
        found = await answers(context);
      } catch (error) {
        // Workgroups may be larger than the device has them.
        expect(error).toMatchObject({ code: expect.stringMatching(/^device\/(validation|error|internal)$/) });
        return;
      }
      for (const [i, answer] of found.entries()) {
        const { experiment, type } = jobs[i]!;
        const difference = differenceOf(answer, await jobs[i]!.expected(), 0);
        expect([experiment.name, type, difference]).toEqual([experiment.name, type, undefined]);
      }
      agreed++;
    });
    await fc.assert(property, { numRuns: 5, examples: [[{}]] });
    expect(agreed).toBeGreaterThan(0);
  });
});

describe('quadrille tune', () => {
  let shop: Workshop;
  beforeAll(async () => {
    shop = await openWorkshop();
  });
  afterAll(() => shop.remove());
  const QUICK = ['--adapter', adapter, '--size', '500', '--rounds', '1'];

  test('writes an entry that other commands and programs take', async () => {
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

  test('begins nothing new when its time is over', async () => {
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
    expect(stderr).toContain('There was no time for all of them: give more --seconds.');
  });

  test.each([
    [['--only', 'scan.itens'], 'There is no member scan.itens to try. There are forEach.threads,'],
    [['--out', 'tuning.csv'], '--out tuning.csv would hold JSON, not what .csv says.'],
    [['--size', '2^40'], "--size has '2^40' where a number of elements belongs."],
    [['--tuning', '@missing.json'], 'missing.json'],
  ])('%j is refused', async (words, sentence) => {
    const { exitCode, stderr } = await shop.quadrille(['tune', '--adapter', adapter, ...words]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(sentence);
  });
});
