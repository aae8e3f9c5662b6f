import type { Module, Operand } from '../../ir/ir.ts';
import { type Linkage, type Links, link, linkEntry } from '../recorder.ts';

/** A function of a text: a separate module, in which placeholders name the other functions of the text. */
export interface RecordedFunction {
  readonly module: Module;
  /** The functions of the text that it calls. */
  readonly callees: ReadonlySet<string>;
}

/** The placeholder for a function of a text until it is linked; no function has such a name. */
export function standIn(name: string): string {
  return `the function ${name}`;
}

/**
 * The module of a function with everything that it calls, each linked once. For a text in which every function calls
 * the previous one, this takes linear time.
 *
 * @param functions - The functions of the text, callees before their callers.
 */
export function linkFunctions(functions: ReadonlyMap<string, RecordedFunction>, entry: string): Module {
  const needed = neededBy(functions, entry);
  const linkage: Linkage = { functions: [], linked: new Map() };
  const names = new Map<string, string>();
  const { module } = functions.get(entry)!;
  for (const [name, each] of functions) {
    if (name === entry) linkEntry(linkage, module, linksOf(each, names));
    else if (needed.has(name)) names.set(name, link(linkage, each.module, linksOf(each, names)));
    if (name === entry) break;
  }
  return { functions: linkage.functions, arrays: module.arrays, uniforms: module.uniforms };
}

/** A function and all functions that it calls, directly or indirectly. */
function neededBy(functions: ReadonlyMap<string, RecordedFunction>, entry: string): ReadonlySet<string> {
  const needed = new Set([entry]);
  // Iterating over a set also visits elements added meanwhile.
  for (const name of needed) for (const callee of functions.get(name)!.callees) needed.add(callee);
  return needed;
}

/** Captures keep their names in the text. */
function linksOf({ module, callees }: RecordedFunction, names: ReadonlyMap<string, string>): Links {
  const uniforms = [...module.uniforms].map(([name, type]): [string, Operand] => [
    name,
    { kind: 'uniform', type, name },
  ]);
  return {
    arrays: new Map([...module.arrays.keys()].map((name) => [name, name])),
    uniforms: new Map(uniforms),
    inputs: new Map([...callees].map((callee) => [standIn(callee), names.get(callee)!])),
  };
}
