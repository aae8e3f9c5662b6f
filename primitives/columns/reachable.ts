import { isPlain, isPromise } from '../checks/given.ts';
import { Column, Memory, type View, type ViewInput } from './column.ts';

/** All columns inside a value. Records, arrays, maps and sets are searched at any depth. */
export function columnsIn(value: unknown): Column[] {
  return partsIn(value).filter((part) => part instanceof Column);
}

/**
 * All memory that the columns inside a value refer to, and the {@link Memory} objects inside the value. A column refers
 * to the memory of its elements, of its row count, and of everything that its view reads. Views with a serial number
 * below `since` are skipped, because such views read only memory that is older than they are.
 */
export function memoriesIn(value: unknown, since = 0): Memory[] {
  return [...memoriesOf(partsIn(value), since)];
}

/** Like {@link memoriesIn}, but for columns and memory that the caller has already collected from a value. */
export function memoriesOf(parts: readonly (Column | Memory)[], since = 0): Set<Memory> {
  const memories = new Set<Memory>();
  const views: View[] = [];
  for (const part of parts) {
    if (part instanceof Memory) memories.add(part);
    else {
      addLength(part.length, memories);
      if (part.source.kind === 'stored') memories.add(part.source.memory);
      else views.push(part.source.view);
    }
  }
  if (views.length > 0) for (const view of viewsUnder(views, since)) addMemories(view, memories);
  return memories;
}

/**
 * All memory that the given views read or own, directly or through the views that they read. Views with a serial number
 * below `since` are skipped.
 */
export function memoriesUnder(views: Iterable<View>, since = 0): Set<Memory> {
  const memories = new Set<Memory>();
  for (const view of viewsUnder(views, since)) addMemories(view, memories);
  return memories;
}

/**
 * All memory from which a view is computed. `knownOf` gives the memory of inputs for which it is known. The walk ends at
 * these inputs, so that storing view after view of a long chain visits each view once.
 */
export function sourcesOf(view: View, knownOf: (input: ViewInput) => Iterable<Memory> | undefined): Set<Memory> {
  const sources = new Set<Memory>();
  const views = new Set([view]);
  // The loop also visits the views that it adds.
  for (const each of views) {
    addMemories(each, sources);
    for (const input of each.inputs) {
      const known = knownOf(input);
      if (known === undefined) views.add(input.view);
      else for (const memory of known) sources.add(memory);
    }
  }
  return sources;
}

/**
 * The given views, and all views that they read directly or indirectly. Views with a serial number below `since` are
 * skipped.
 */
export function viewsUnder(views: Iterable<View>, since = 0): Set<View> {
  const found = new Set<View>();
  const open = [...views];
  for (let view = open.pop(); view !== undefined; view = open.pop()) {
    if (view.born < since || found.has(view)) continue;
    found.add(view);
    for (const input of view.inputs) open.push(input.view);
  }
  return found;
}

function addMemories({ arrays, inputs, owned }: View, memories: Set<Memory>): void {
  for (const { memory, length } of arrays.values()) {
    memories.add(memory);
    addLength(length, memories);
  }
  for (const { length } of inputs) addLength(length, memories);
  for (const memory of owned) memories.add(memory);
}

function addLength(length: Column['length'], memories: Set<Memory>): void {
  if (typeof length !== 'number') memories.add(length.memory);
}

/** All columns and {@link Memory} objects inside a value. Records, arrays, maps and sets are searched at any depth. */
export function partsIn(value: unknown): (Column | Memory)[] {
  const parts: (Column | Memory)[] = [];
  collectParts(value, new Set(), parts);
  return parts;
}

function collectParts(value: unknown, seen: Set<unknown>, parts: (Column | Memory)[]): void {
  if (typeof value !== 'object' || value === null || seen.has(value) || ArrayBuffer.isView(value)) return;
  seen.add(value);
  if (value instanceof Column || value instanceof Memory) {
    parts.push(value);
    return;
  }
  const inside = value instanceof Map || value instanceof Set ? value.values() : Object.values(value);
  for (const part of inside) collectParts(part, seen, parts);
}

/**
 * All promises inside a value, with their paths. Records, arrays, maps and sets are searched, but not other objects.
 */
export function promisesIn(value: unknown): Map<string, PromiseLike<unknown>> {
  const promises = new Map<string, PromiseLike<unknown>>();
  collectPromises(value, '', new Set(), promises);
  return promises;
}

function collectPromises(
  value: unknown,
  path: string,
  seen: Set<unknown>,
  promises: Map<string, PromiseLike<unknown>>,
): void {
  if (typeof value !== 'object' || value === null || seen.has(value) || ArrayBuffer.isView(value)) return;
  seen.add(value);
  if (isPromise(value)) promises.set(path, value);
  else if (value instanceof Map || value instanceof Set || Array.isArray(value)) {
    for (const [at, part] of value.entries()) {
      collectPromises(part, `${path}[${typeof at === 'object' ? '…' : String(at)}]`, seen, promises);
    }
  } else if (isPlain(value)) {
    for (const [name, part] of Object.entries(value)) {
      collectPromises(part, path === '' ? name : `${path}.${name}`, seen, promises);
    }
  }
}
