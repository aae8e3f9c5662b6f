import { SymbolicUniform } from '../../../primitives/columns/symbolic.ts';
import type { DeviceBuffer } from '../../../primitives/contract/backend.ts';
import type { NumberList } from '../../../primitives/host/structures.ts';
import type { Script } from '../../../primitives/prepared/script.ts';
import { CommandSignature } from '../launches/command-signature.ts';
import type { Memory } from '../memory/memory.ts';
import type { TapeLayout } from './tape.ts';

const [ALLOCATE, RELEASE, WRITE, COMMAND] = [0, 1, 2, 3];
const [VALUE, SYMBOL] = [0, 1];

/**
 * A function that returns a list of numbers that determines the tape of a script (recorded commands of a prepared
 * pipeline). Scripts with equal lists share a tape.
 */
export type ScriptSignature = (script: Script, layout: TapeLayout) => NumberList;

/** Creates a function that reuses one list: every call overwrites the list that the previous call returned. */
export function createScriptSignature(): ScriptSignature {
  const standIns = new Map<DeviceBuffer, Memory>();
  // Buffers of scripts (recorded commands) are placeholders without memory.
  const resolve = (buffer: DeviceBuffer): Memory => {
    const { id, words } = buffer;
    const standIn = standIns.get(buffer) ?? { id, words, parts: [], shift: 31 };
    standIns.set(buffer, standIn);
    return standIn;
  };
  const signature = new CommandSignature({ resolve });
  return (script, layout) => {
    signature.clear();
    writeScript(signature, script, layout);
    standIns.clear();
    return signature.list;
  };
}

function writeScript(to: CommandSignature, script: Script, { counted }: TapeLayout): void {
  const { list, uniforms } = to;
  for (const buffers of [script.inputs, script.results, [script.block]]) {
    list.push(buffers.length);
    for (const buffer of buffers) to.buffer(buffer);
  }
  list.push(counted.length);
  for (const word of counted) list.push(word);
  to.number(script.gate);
  for (const step of script.steps) {
    if (step.kind === 'allocate' || step.kind === 'release' || step.kind === 'write') {
      list.push(step.kind === 'allocate' ? ALLOCATE : step.kind === 'release' ? RELEASE : WRITE);
      to.buffer(step.buffer);
    } else {
      list.push(COMMAND);
      to.command(step);
    }
  }
  for (const value of uniforms as readonly unknown[]) {
    const isSymbol = value instanceof SymbolicUniform;
    list.push(isSymbol ? SYMBOL : VALUE);
    list.push(isSymbol ? value.word : Number(value));
  }
}
