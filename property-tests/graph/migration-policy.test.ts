import { describe, expect } from 'vitest';
import { migrator } from '../../graph/index.ts';
import {
  decideMigration,
  defaultMigrationPolicy,
  initialMigrationState,
  type MigrationDecision,
  type MigrationInput,
  type MigrationMode,
  type MigrationPolicy,
  type MigrationState,
  type SideLoad,
  type StageLoad,
} from '../../graph/migration/migration-policy.ts';
import { GraphError } from '../../primitives/checks/errors.ts';
import { fc, test } from '../law-test.ts';

const size = fc.integer({ min: 1, max: 1000 });
const rate = fc.double({ min: 0.01, max: 100, noNaN: true });

const side = (rates: fc.Arbitrary<number | undefined>): fc.Arbitrary<SideLoad> =>
  fc.integer({ min: 1, max: 4 }).chain((lanes) =>
    fc.record({
      lanes: fc.constant(lanes),
      underWay: fc.array(fc.nat({ max: 1000 }), { maxLength: lanes }),
      rate: rates,
    }),
  );

const stageLoad = (gpu: fc.Arbitrary<SideLoad>, cpu: fc.Arbitrary<SideLoad> = gpu): fc.Arbitrary<StageLoad> =>
  fc.record({ waiting: fc.array(size, { maxLength: 8 }), gpu, cpu });

const anySide = side(fc.option(rate, { nil: undefined }));
const knownSide = side(rate);
const flow = fc.option(fc.double({ min: 0.001, max: 100, noNaN: true }), { nil: undefined });

const input = (load: fc.Arbitrary<StageLoad>): fc.Arbitrary<MigrationInput> =>
  fc
    .record({
      level: fc.tuple(fc.nat({ max: 10 }), fc.nat({ max: 10 })),
      blocked: fc.boolean(),
      ending: fc.boolean(),
      downstream: load,
      upstream: fc.option(load, { nil: undefined }),
      supply: flow,
      demand: flow,
      finished: fc.nat({ max: 100 }),
    })
    .map(({ level: [items, bytes], ...rest }) => ({
      ...rest,
      occupancy: { items, bytes: bytes * 10 },
      capacity: { items: 10, bytes: 100 },
    }));

const state: fc.Arbitrary<MigrationState> = fc.record({
  mode: fc.constantFrom<MigrationMode>('balanced', 'full', 'starved'),
  since: fc.nat({ max: 100 }),
});

const policy: fc.Arbitrary<MigrationPolicy> = fc
  .tuple(fc.uniqueArray(fc.nat({ max: 10 }), { minLength: 2, maxLength: 4 }), fc.integer({ min: 1, max: 10 }))
  .map(([levels, dwell]) => {
    const [a, b, c, d] = levels.sort((x, y) => x - y).map((level) => level / 10) as [number, number, number?, number?];
    const thresholds =
      d !== undefined && c !== undefined
        ? { starvedFrom: a, starvedUntil: b, fullUntil: c, fullFrom: d }
        : { starvedFrom: 0, starvedUntil: a, fullUntil: a, fullFrom: b };
    return { ...thresholds, dwell, margin: 0.1 };
  });

const idleLanes = ({ lanes, underWay }: SideLoad): number => lanes - underWay.length;

/** A stage on the GPU whose edge is full, while the CPU has idle lanes. */
const congested = ({ gpu, cpu, waiting }: { gpu?: number; cpu?: number; waiting: number[] }): MigrationInput => ({
  occupancy: { items: waiting.length, bytes: 0 },
  capacity: { items: waiting.length, bytes: Number.POSITIVE_INFINITY },
  blocked: true,
  ending: false,
  downstream: {
    waiting,
    gpu: { lanes: 1, underWay: [waiting[0]!], rate: gpu },
    cpu: { lanes: 2, underWay: [], rate: cpu },
  },
  finished: 50,
});

/** The stage whose items moved, with its own processor (`home`) and the processor to which they moved (`away`). */
function movedOf(given: MigrationInput, reason: MigrationDecision['reason']) {
  const { upstream, downstream } = given;
  if (reason === 'starved') return { ...upstream!, home: upstream!.cpu, away: upstream!.gpu };
  return { ...downstream, home: downstream.gpu, away: downstream.cpu };
}

/** The times at which the waiting items would finish if none of them moved, computed by an independent simulation. */
function finishAtHome(waiting: readonly number[], home: SideLoad): number[] {
  const lanes = Array.from({ length: home.lanes }, (_, i) => (home.underWay[i] ?? 0) / home.rate!);
  return waiting.map((work) => {
    lanes.sort((a, b) => a - b);
    lanes[0]! += work / home.rate!;
    return lanes[0]!;
  });
}

describe('for any load', () => {
  test.prop({ given: input(stageLoad(anySide)), before: state, policy })(
    'only waiting items move, each once, and at most as many as there are idle lanes',
    ({ given, before, policy }) => {
      const { moves, reason } = decideMigration(given, before, policy);
      if (moves.length === 0) return;
      const { waiting, away } = movedOf(given, reason);
      expect(new Set(moves).size).toBe(moves.length);
      expect(moves.length).toBeLessThanOrEqual(Math.min(waiting.length, idleLanes(away)));
      for (const position of moves) expect(waiting[position]).toBeGreaterThan(0);
    },
  );

  test.prop({ given: input(stageLoad(knownSide)), before: state, policy })(
    'moved items finish sooner than without the move, and smaller such items move first',
    ({ given, before, policy }) => {
      const { moves, reason } = decideMigration(given, before, policy);
      if (moves.length === 0) return;
      const { waiting, home, away } = movedOf(given, reason);
      const without = finishAtHome(waiting, home);
      for (const position of moves) expect(waiting[position]! / away.rate!).toBeLessThan(without[position]!);
      const stay = waiting.map((_, i) => i).filter((i) => !moves.includes(i));
      const left = finishAtHome(
        stay.map((i) => waiting[i]!),
        home,
      );
      stay.forEach((i, k) => {
        expect(left[k]).toBeLessThanOrEqual(without[i]! * (1 + 1e-12));
        if (waiting[i]! < waiting[moves.at(-1)!]!) {
          expect(waiting[i]! / away.rate!).toBeGreaterThanOrEqual(left[k]! * (1 - 1e-12));
        }
      });
    },
  );

  test.prop({ given: input(stageLoad(anySide)), before: state, policy })(
    'the decision depends only on its input',
    ({ given, before, policy }) => {
      expect(decideMigration(structuredClone(given), before, policy)).toEqual(decideMigration(given, before, policy));
    },
  );

  test.prop({ given: input(stageLoad(anySide)), before: state, policy, items: fc.tuple(fc.nat(10), fc.nat(10)) })(
    'a fuller edge moves more to the CPU and less to the GPU',
    ({ given, before, policy, items }) => {
      const [emptier, fuller] = items
        .sort((a, b) => a - b)
        .map((held) => decideMigration({ ...given, occupancy: { items: held, bytes: 0 } }, before, policy));
      const toCpu = (decision = emptier!): number => (decision.reason === 'starved' ? 0 : decision.moves.length);
      const toGpu = (decision = emptier!): number => (decision.reason === 'starved' ? decision.moves.length : 0);
      expect(toCpu(fuller)).toBeGreaterThanOrEqual(toCpu(emptier));
      expect(toGpu(fuller)).toBeLessThanOrEqual(toGpu(emptier));
    },
  );

  test.prop({ given: input(stageLoad(anySide)), before: state, ratio: fc.double({ min: 1 / 1.09, max: 1.09 }) })(
    'balanced rates move nothing',
    ({ given, before, ratio }) => {
      const demand = given.demand ?? 1;
      const balanced = { ...given, ending: false, demand, supply: demand * ratio };
      expect(decideMigration(balanced, before).moves).toEqual([]);
    },
  );

  test.prop({ steps: fc.array(input(stageLoad(anySide)), { maxLength: 60 }), policy })(
    'the mode changes at most once per dwell',
    ({ steps, policy }) => {
      const ordered = steps.sort((a, b) => a.finished - b.finished);
      let now: MigrationState = initialMigrationState;
      const changes: number[] = [];
      for (const step of ordered) {
        const { state: next } = decideMigration(step, now, policy);
        if (next.mode !== now.mode) changes.push(step.finished);
        now = next;
      }
      for (let i = 1; i < changes.length; i++) {
        expect(changes[i]! - changes[i - 1]!).toBeGreaterThanOrEqual(policy.dwell);
      }
    },
  );
});

describe('a congested GPU', () => {
  test.prop({ waiting: fc.array(size, { minLength: 1, maxLength: 8 }), gpu: rate })(
    'at half the rate of the CPU gives away the smallest item',
    ({ waiting, gpu }) => {
      const { moves, reason } = decideMigration(congested({ gpu, cpu: 2 * gpu, waiting }));
      expect(reason).toBe('full');
      expect(moves.length).toBeGreaterThanOrEqual(1);
      expect(waiting[moves[0]!]).toBe(Math.min(...waiting));
    },
  );

  test.prop({
    waiting: fc.array(size, { minLength: 1, maxLength: 8 }),
    known: fc.constantFrom<{ gpu?: number; cpu?: number }>({}, { gpu: 1 }, { cpu: 1 }),
  })('with unknown rates gives away exactly the smallest item, and waits for it', ({ waiting, known }) => {
    const given = congested({ ...known, waiting });
    const { moves } = decideMigration(given);
    expect(moves).toEqual([waiting.indexOf(Math.min(...waiting))]);
    const exploring = { ...given.downstream, cpu: { ...given.downstream.cpu, underWay: [1] } };
    expect(decideMigration({ ...given, downstream: exploring }).moves).toEqual([]);
  });

  test('continues to give items away until the edge is half empty, after the dwell', () => {
    const base = congested({ gpu: 1, cpu: 2, waiting: [5, 6, 7, 8] });
    const at = (items: number, finished: number, blocked = false): MigrationInput => ({
      ...base,
      occupancy: { items, bytes: 0 },
      blocked,
      finished,
    });
    const entered = decideMigration(at(4, 10, true)).state;
    expect(entered).toEqual({ mode: 'full', since: 10 });
    expect(decideMigration(at(3, 20), entered).state).toEqual(entered);
    expect(decideMigration(at(2, 13), entered).state).toEqual(entered);
    expect(decideMigration(at(2, 14), entered).state).toEqual({ mode: 'balanced', since: 14 });
  });

  test('at the end gives away every item that gains at any level, but explores no more', () => {
    const ending = { ...congested({ gpu: 1, cpu: 1, waiting: [9, 4, 6] }), ending: true, blocked: false };
    const low = { ...ending, occupancy: { items: 0, bytes: 0 }, supply: 1, demand: 1 };
    expect(decideMigration(low)).toMatchObject({ reason: 'ending', moves: [1, 2] });
    const unknown = congested({ gpu: 1, waiting: [9, 4, 6] });
    expect(decideMigration({ ...unknown, ending: true }).moves).toEqual([]);
  });

  test('that is lost leaves all items to the CPU, oldest first', () => {
    const given = congested({ gpu: 1, cpu: 1, waiting: [9, 1, 5] });
    const lost = { ...given.downstream, gpu: { lanes: 0, underWay: [], rate: 1 } };
    const decision = decideMigration({ ...given, blocked: false, occupancy: { items: 0, bytes: 0 }, downstream: lost });
    expect(decision).toMatchObject({ reason: 'lost', moves: [0, 1] });
  });
});

describe('a starving GPU', () => {
  const starving: MigrationInput = {
    occupancy: { items: 0, bytes: 0 },
    capacity: { items: 4, bytes: Number.POSITIVE_INFINITY },
    blocked: false,
    ending: false,
    downstream: { waiting: [], gpu: { lanes: 1, underWay: [], rate: 5 }, cpu: { lanes: 1, underWay: [] } },
    upstream: {
      waiting: [8, 3, 6],
      gpu: { lanes: 1, underWay: [], rate: 1 },
      cpu: { lanes: 1, underWay: [4], rate: 1 },
    },
    supply: 1,
    demand: 2,
    finished: 9,
  };

  test('takes the smallest item of the stage before it', () => {
    expect(decideMigration(starving)).toMatchObject({ state: { mode: 'starved' }, reason: 'starved', moves: [1] });
  });

  test('takes nothing while it has work, has no measured rate, or has no stage before it', () => {
    const busy = { ...starving.downstream, gpu: { lanes: 1, underWay: [1], rate: 5 } };
    const fresh = { ...starving.downstream, gpu: { lanes: 1, underWay: [] } };
    for (const change of [{ downstream: busy }, { downstream: fresh }, { upstream: undefined }]) {
      expect(decideMigration({ ...starving, ...change }).moves).toEqual([]);
    }
  });

  test('leaves items that their own side finishes sooner', () => {
    const slow = { ...starving.upstream!, gpu: { lanes: 1, underWay: [], rate: 0.1 } };
    expect(decideMigration({ ...starving, upstream: slow }).moves).toEqual([]);
  });
});

test('thresholds in the wrong order are refused', () => {
  for (const bad of [{ fullUntil: 1 }, { starvedUntil: 0.6 }, { starvedFrom: -1 }, { fullFrom: 2 }, { dwell: 0 }]) {
    expect(() => migrator({ policy: bad })).toThrow(GraphError);
  }
  expect(() => migrator({ policy: defaultMigrationPolicy })).not.toThrow();
});
