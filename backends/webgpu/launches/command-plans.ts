import type { Program } from '../../../primitives/contract/backend.ts';
import { createStructures, type Structures } from '../../../primitives/host/structures.ts';
import { wordOfValue } from '../../../primitives/ir/evaluate.ts';
import type { Memory } from '../memory/memory.ts';
import type { BufferPart } from '../memory/part.ts';
import type { SpineRun } from '../memory/spine.ts';
import type { CommandSignature } from './command-signature.ts';
import { type CommandPlan, CommandTrace, type DispatchStep, type PartPlace, SPINE } from './command-trace.ts';
import type { Engine } from './engine.ts';
import type { SlotPlace } from './recorder.ts';

/**
 * Cached plans, by the signature of the command. A plan is the list of steps (dispatches, copies and so on) with which
 * a command was executed. A later command with the same signature repeats these steps with its own buffers and uniform
 * values. Each repetition also uses new epochs: numbers that mark the words that a dispatch has written for
 * communication between workgroups. The signature determines everything else.
 */
export type CommandPlans = Structures<KnownCommand>;

/**
 * A command that was executed before. The plan of a command is recorded when it is executed for the second time, so
 * that commands that are executed only once cost nothing.
 */
interface KnownCommand {
  readonly plan: CommandPlan | undefined;
}

/** Maximum size of all cached signatures and plans, in words: about 10 MB. */
const MAX_WORDS = 2 ** 21;
/** Estimated size of a step, in words. */
const STEP_WORDS = 256;

export function createCommandPlans(): CommandPlans {
  return createStructures<KnownCommand>(MAX_WORDS, ({ plan }) => STEP_WORDS * (plan?.steps.length ?? 0));
}

const SEEN_ONCE: KnownCommand = { plan: undefined };

/**
 * Executes a command on an engine. While a plan is recorded, there is `traced`, and it must be applied to every program
 * of the command. It replaces the program's uniforms by `TracedUniform`s, which record comparisons of their values.
 */
export type TracedRun = (engine: Engine, traced?: (program: Program) => Program) => void;

/** Executes a command by its plan if there is a plan, else by `run`. */
export function runPlanned(engine: Engine, plans: CommandPlans, signature: CommandSignature, run: TracedRun): void {
  const { list, memories, uniforms } = signature;
  const known = plans.get(list);
  if (known?.plan !== undefined && holds(known.plan, uniforms)) {
    play(engine, known.plan, memories, uniforms);
  } else if (known === undefined || known.plan !== undefined) {
    run(engine);
    if (known === undefined) plans.set(list, SEEN_ONCE);
  } else {
    const trace = new CommandTrace(memories);
    run(trace.watch(engine), (program) => trace.traced(program));
    if (trace.complete) plans.set(list, { plan: { steps: trace.steps, guards: trace.guards } });
  }
}

function holds({ guards }: CommandPlan, uniforms: readonly (number | boolean)[]): boolean {
  for (const { uniform, bound, reaches } of guards)
    if ((uniforms[uniform]! as number) >= bound !== reaches) return false;
  return true;
}

/** Executes the steps of a plan with the given buffers and uniform values. */
function play(
  engine: Engine,
  { steps }: CommandPlan,
  memories: readonly Memory[],
  uniforms: readonly (number | boolean)[],
): void {
  const { pool, recorder, spine } = engine;
  const held = [...memories];
  const slots: SlotPlace[] = [];
  let run: SpineRun | undefined;
  const partOf = ({ memory, part }: PartPlace): BufferPart =>
    (memory === SPINE ? run!.memory : held[memory]!).parts[part]!;
  for (const step of steps) {
    switch (step.kind) {
      case 'allocate':
        held.push(pool.allocate(step.words));
        break;
      case 'release':
        pool.release(held[step.memory]!);
        break;
      case 'spine':
        run = spine.begin(step.words);
        break;
      case 'copy':
        recorder.copy(partOf(step.from), step.fromByte, partOf(step.to), step.toByte, step.bytes);
        break;
      case 'clear':
        recorder.clear(partOf(step.part), step.byte, step.bytes);
        break;
      case 'parameters': {
        const { words } = step;
        for (const { at, uniform, type } of step.uniforms) words[at] = wordOfValue(type, uniforms[uniform]!);
        slots.push(recorder.place(words));
        break;
      }
      case 'deviceWord': {
        const { chunk, byteOffset } = slots.at(-1)!;
        recorder.copy(partOf(step.from), step.fromByte, chunk, byteOffset + step.toByte, 4);
        break;
      }
      case 'dispatch':
        dispatch(engine, step, slots[step.parameters]!, step.parts.map(partOf), run);
    }
  }
}

function dispatch(
  { recorder, compiler }: Engine,
  step: DispatchStep,
  slot: SlotPlace,
  parts: readonly BufferPart[],
  run: SpineRun | undefined,
): void {
  const { kernel, words, epochAt, groups, access } = step;
  if (epochAt !== undefined) words[epochAt] = run!.epoch;
  const place = recorder.place(words);
  if (step.group === undefined || !areSame(step.bound, parts)) {
    step.group = compiler.storageGroup(kernel, parts);
    step.bound = parts;
  }
  recorder.dispatch({
    pipeline: kernel.pipeline,
    groups,
    parameters: compiler.parameterGroup(slot, place),
    offsets: [slot.byteOffset, place.byteOffset],
    storage: step.group,
    parts,
    access,
  });
}

function areSame(known: readonly BufferPart[], parts: readonly BufferPart[]): boolean {
  for (const [i, part] of parts.entries()) if (known[i] !== part) return false;
  return true;
}
