import {
  capacityOf,
  type ForEachCommand,
  type HistogramCommand,
  type MonoidProgram,
  type ReduceCommand,
  type ScanCommand,
  type SortCommand,
  type WalkCommand,
  type WeightedHistogramCommand,
} from '../../primitives/contract/backend.ts';
import { CombinationTree } from '../../primitives/contract/combination-tree.ts';
import { weightsOf } from '../../primitives/derived/weighted-histogram-by-digits.ts';
import { wordOfValue } from '../../primitives/ir/evaluate.ts';
import { entryOf } from '../../primitives/ir/ir.ts';
import { combinerOf, leavesOf, names, runLoop, type State, state, stateOf, storing, targetsOf } from './loop.ts';
import type { HostMemory } from './memory.ts';

// Each kernel is a loop over rows, and specifies its command. The loops are text, which is compiled together with the
// programs that they call (`loop.ts`).

export function forEach(memory: HostMemory, { extent, program, stores }: ForEachCommand): void {
  const values = { length: memory.lengthOf(extent), ...targetsOf(memory, stores) };
  const body = `for (let i = 0; i < length; i++) {
  const results = row(i);
  ${storing(program, stores)}
}`;
  runLoop(memory, { row: program }, values, body);
}

export function walk(memory: HostMemory, { extent, start, step, steps, changing, stores }: WalkCommand): void {
  const values = { length: memory.lengthOf(extent), steps, ...targetsOf(memory, stores) };
  const leaves = entryOf(start.module).results.length - 1;
  const body = `for (let i = 0; i < length; i++) {
  let [more, ${names('s', leaves)}] = start(i);
  for (let done = 0; more; done++) {
    if (done === steps) throw new RangeError('A walk took more steps than its proved bound.');
    const results = step(i, ${names('s', leaves)});
    ${storing(step, stores)}
    [more, ${names('s', changing)}] = results;
  }
}`;
  runLoop(memory, { start, step }, values, body);
}

export function reduce(memory: HostMemory, { extent, program, monoid, into }: ReduceCommand): void {
  const leaves = monoid.types.length;
  const body = monoid.exact
    ? `let [${names('s', leaves)}] = identity;
for (let i = 0; i < length; i++) {
  const [${names('e', leaves)}] = element(i);
  [${names('s', leaves)}] = combine(${names('s', leaves)}, ${names('e', leaves)});
}
return ${state('s', leaves)};`
    : `for (let i = 0; i < length; i++) {
  const [${names('e', leaves)}] = element(i);
  tree.add(${state('e', leaves)});
}
return tree.end();`;
  const values = { length: memory.lengthOf(extent), identity: monoid.identity, tree: treeOf(memory, monoid) };
  put(memory, monoid, runLoop(memory, { element: program, combine: monoid }, values, body) as State | undefined, into);
}

export function scan(memory: HostMemory, { extent, program, monoid, emit, stores, total }: ScanCommand): void {
  const leaves = monoid.types.length;
  const body = monoid.exact
    ? `let [${names('s', leaves)}] = identity;
for (let i = 0; i < length; i++) {
  const [${names('e', leaves)}] = element(i);
  const [${names('n', leaves)}] = combine(${names('s', leaves)}, ${names('e', leaves)});
  const results = emit(i, ${names('s', leaves)}, ${names('n', leaves)});
  ${storing(emit, stores)}
  [${names('s', leaves)}] = [${names('n', leaves)}];
}
return ${state('s', leaves)};`
    : `for (let i = 0; i < length; i++) {
  const [${names('e', leaves)}] = element(i);
  tree.scan(${state('e', leaves)});
  const [${names('s', leaves)}] = tree.exclusive === undefined ? identity : ${leaves === 1 ? '[tree.exclusive]' : 'tree.exclusive'};
  const ${state('n', leaves)} = tree.inclusive;
  const results = emit(i, ${names('s', leaves)}, ${names('n', leaves)});
  ${storing(emit, stores)}
}
return tree.end();`;
  const values = {
    length: memory.lengthOf(extent),
    identity: monoid.identity,
    tree: treeOf(memory, monoid),
    ...targetsOf(memory, stores),
  };
  const all = runLoop(memory, { element: program, combine: monoid, emit }, values, body) as State | undefined;
  if (total !== undefined) put(memory, monoid, all, total);
}

/** The tree by which a monoid that is not exact combines elements. */
function treeOf(memory: HostMemory, monoid: MonoidProgram): CombinationTree<State> | undefined {
  return monoid.exact ? undefined : new CombinationTree(combinerOf(memory, monoid));
}

/** Writes the combination of all rows; the identity if there are none. */
function put(
  memory: HostMemory,
  { types, identity }: MonoidProgram,
  total: State | undefined,
  into: ReduceCommand['into'],
): void {
  const words = leavesOf(total ?? stateOf(identity)).map((value, leaf) => wordOfValue(types[leaf]!, value));
  memory.resolve(into.buffer).views.u32.set(words, into.word);
}

export function sort(memory: HostMemory, { extent, program, beginBit, endBit, keys, payload }: SortCommand): void {
  const length = memory.lengthOf(extent);
  const column = (): Uint32Array => new Uint32Array(length);
  let [sorted, other] = [
    { keys: column(), payload: column() },
    { keys: column(), payload: column() },
  ];
  const body = `for (let i = 0; i < length; i++) {
  const [key, value] = row(i);
  sorted.keys[i] = key;
  sorted.payload[i] = value;
}`;
  runLoop(memory, { row: program }, { length, sorted }, body);
  // Counts the rows of each byte of the keys and moves them in order, from the lowest byte on. Every step is stable.
  for (let bit = beginBit; bit < endBit; bit += 8) {
    const mask = (1 << Math.min(8, endBit - bit)) - 1;
    const starts = new Uint32Array(mask + 2);
    for (const key of sorted.keys) starts[((key >>> bit) & mask) + 1]!++;
    for (let digit = 0; digit < mask; digit++) starts[digit + 1]! += starts[digit]!;
    for (let i = 0; i < length; i++) {
      const at = starts[(sorted.keys[i]! >>> bit) & mask]!++;
      other.keys[at] = sorted.keys[i]!;
      other.payload[at] = sorted.payload[i]!;
    }
    [sorted, other] = [other, sorted];
  }
  if (keys !== undefined) memory.resolve(keys.buffer).views.u32.set(sorted.keys, keys.word);
  if (payload !== undefined) memory.resolve(payload.buffer).views.u32.set(sorted.payload, payload.word);
}

export function histogram(memory: HostMemory, command: HistogramCommand): void {
  const { extent, program, bins, segment, histograms, inner, into } = command;
  const runs = histograms ?? (segment === undefined ? 1 : Math.ceil(capacityOf(extent) / segment));
  const counts = memory.resolve(into.buffer).views.u32.subarray(into.word, into.word + bins * runs);
  counts.fill(0);
  const run = histograms !== undefined ? 'histogram' : segment !== undefined ? 'Math.floor(i / segment)' : '0';
  const count = `if (bin < bins && ${run} < runs) counts[${run} * bins + bin]++;`;
  const element = histograms === undefined ? '[bin]' : '[bin, histogram]';
  const leaves = names('s', inner === undefined ? 0 : entryOf(inner.row.module).results.length - 1);
  const body =
    inner === undefined
      ? `for (let i = 0; i < length; i++) {
  const ${element} = element(i);
  ${count}
}`
      : `for (let i = 0; i < length; i++) {
  const [active, ${leaves}] = row(i);
  for (let rank = 0; active && rank < ranks; rank++) {
    const ${element} = element(i, rank, ${leaves});
    ${count}
  }
}`;
  const values = { length: memory.lengthOf(extent), bins, runs, counts, segment, ranks: inner?.ranks };
  runLoop(memory, inner === undefined ? { element: program } : { element: program, row: inner.row }, values, body);
}

export function weightedHistogram(memory: HostMemory, { extent, program, bins, into }: WeightedHistogramCommand): void {
  const weights = weightsOf({ program });
  const sums = memory.resolve(into.buffer).views.u32.subarray(into.word, into.word + 2 * weights * bins);
  sums.fill(0);
  // The low words of the sums of a weight stand before the high words.
  const body = `for (let i = 0; i < length; i++) {
  const [bin, ...weights] = element(i);
  if (bin >= bins) continue;
  for (let w = 0; w < weights.length; w++) {
    const low = 2 * w * bins + bin;
    const sum = sums[low] + weights[w];
    sums[low] = sum;
    if (sum >= 2 ** 32) sums[low + bins]++;
  }
}`;
  runLoop(memory, { element: program }, { length: memory.lengthOf(extent), bins, sums }, body);
}
