import type { Module, Operand } from '../../ir/ir.ts';
import { type Linkage, type Links, link, linkEntry } from '../recorder.ts';

/** A function of a text: a module of its own, in which names stand for the other functions of the text. */
export interface RecordedFunction {
  readonly module: Module;
  /** The functions of the text that it calls. */
  readonly callees: ReadonlySet<string>;
}

/** What stands for a function of a text until it is linked: no function is called so. */
export function standIn(name: string): string {
  return `the function ${name}`;
}

/**
 * The module of a function with all that it calls, each linked once: a text in which every function calls the one before takes
 * time linear in its length.
 *
 * @param functions - Those of the text, callees before their callers.
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

/** A function and those that it calls, and that these call. */
function neededBy(functions: ReadonlyMap<string, RecordedFunction>, entry: string): ReadonlySet<string> {
  const needed = new Set([entry]);
  // A set goes on to what is added to it on the way.
  for (const name of needed) for (const callee of functions.get(name)!.callees) needed.add(callee);
  return needed;
}

/** Captures keep the names that they have in the text. */
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
