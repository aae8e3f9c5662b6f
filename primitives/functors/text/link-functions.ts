import type { Module } from '../../ir/ir.ts';
import { type Linkage, type Links, link, linkEntry } from '../recorder.ts';
import { linksTo } from '../wrap-module.ts';

/**
 * A function of a WGSL text, recorded as a separate module. Calls of other functions of the text are recorded under
 * placeholder names.
 */
export interface RecordedFunction {
  readonly module: Module;
  /** Names of the functions of the text that this function calls. */
  readonly callees: ReadonlySet<string>;
}

/**
 * The name under which calls of a function are recorded before the text is linked. No function of a text can have this
 * name.
 */
export function standIn(name: string): string {
  return `the function ${name}`;
}

/**
 * Links the function `entry` and all functions that it calls, directly or indirectly, into one module. Each function is
 * linked only once, so the time is linear in the number of functions even if every function calls the previous one.
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

/** Names of a function and of all functions that it calls, directly or indirectly. */
function neededBy(functions: ReadonlyMap<string, RecordedFunction>, entry: string): ReadonlySet<string> {
  const needed = new Set([entry]);
  // Iterating over a set also visits elements added during the iteration, so the loop also finds indirect callees.
  for (const name of needed) for (const callee of functions.get(name)!.callees) needed.add(callee);
  return needed;
}

/**
 * Returns what linking puts in place of the names in a function. Arrays and uniforms keep their names. Placeholders of
 * callees are replaced by `names`, the names that the callees have in the linked module.
 */
function linksOf({ module, callees }: RecordedFunction, names: ReadonlyMap<string, string>): Links {
  const inputs = new Map([...callees].map((callee) => [standIn(callee), names.get(callee)!]));
  return { ...linksTo(module), inputs };
}
