import type {
  ArrayBinding,
  Backend,
  Cell,
  DeviceBuffer,
  KernelCommand,
  Length,
  Program,
  Store,
  VectorLeaf,
} from './contract/backend.ts';
import { crossReduceOn } from './cross-reduce-by-rows.ts';
import { decodeTilesOn } from './decode-tiles-by-walks.ts';
import type { Script, ScriptCall } from './prepared/script.ts';
import { relaxOn } from './relax-by-rounds.ts';
import { tileHistogramsOn } from './tile-histograms-by-rows.ts';
import { weightedHistogramOn } from './weighted-histogram-by-digits.ts';

/** A kernel command, or a call of a prepared pipeline. */
export type Command = KernelCommand | { readonly kind: 'play'; readonly script: Script; readonly call: ScriptCall };

/** A mapping of the buffers and uniforms of a command to others, so that the command can run on other memory. */
export interface Lookup {
  /** The buffer from which the command reads instead of `buffer`. `word` is the offset of the first element read. */
  reading(buffer: DeviceBuffer, word: number): DeviceBuffer;
  writing(buffer: DeviceBuffer): DeviceBuffer;
  /**
   * The part of the replacement buffer that holds the elements of `buffer`, as an offset and a number of elements.
   * Undefined means the whole replacement buffer.
   */
  range?(buffer: DeviceBuffer): { readonly offset: number; readonly capacity: number } | undefined;
  /** The value that replaces the value of a uniform. If this method is missing, uniforms keep their values. */
  uniform?(value: number | boolean): number | boolean;
}

/** A copy of the command in which a lookup has replaced the buffers and uniforms. */
export function rebound<C extends Command>(given: C, at: Lookup): C;
export function rebound(given: Command, at: Lookup): Command {
  switch (given.kind) {
    case 'play':
      return { ...given, call: callAt(given.call, at) };
    case 'forEach': {
      const { kind, extent, program, stores } = given;
      return { kind, extent: lengthAt(extent, at), program: programAt(program, at), stores: storesAt(stores, at) };
    }
    case 'reduce': {
      const { kind, extent, program, monoid, into } = given;
      return { kind, extent: lengthAt(extent, at), program: programAt(program, at), monoid, into: cellAt(into, at) };
    }
    case 'walk': {
      const { extent, start, step, stores } = given.command;
      const programs = { start: programAt(start, at), step: programAt(step, at) };
      const into = { stores: storesAt(stores, at) };
      return { ...given, command: { ...given.command, extent: lengthAt(extent, at), ...programs, ...into } };
    }
    case 'scan': {
      const { extent, program, emit, stores, total } = given.command;
      const programs = { program: programAt(program, at), emit: programAt(emit, at) };
      const into = { stores: storesAt(stores, at), total: total && cellAt(total, at) };
      return { ...given, command: { ...given.command, extent: lengthAt(extent, at), ...programs, ...into } };
    }
    case 'sort': {
      const { extent, program, keys, payload } = given.command;
      const programs = { program: programAt(program, at) };
      const into = { keys: keys && cellAt(keys, at), payload: payload && cellAt(payload, at) };
      return { ...given, command: { ...given.command, extent: lengthAt(extent, at), ...programs, ...into } };
    }
    case 'histogram': {
      const { extent, program, inner, into: cell } = given.command;
      const programs = { program: programAt(program, at), inner: inner && { ...inner, row: programAt(inner.row, at) } };
      const into = { into: cellAt(cell, at) };
      return { ...given, command: { ...given.command, extent: lengthAt(extent, at), ...programs, ...into } };
    }
    case 'weightedHistogram': {
      const { extent, program, into } = given.command;
      const places = { extent: lengthAt(extent, at), program: programAt(program, at), into: cellAt(into, at) };
      return { ...given, command: { ...given.command, ...places } };
    }
    case 'relax': {
      const { extent, cells, grids, own, step, until, state, rounds } = given.command;
      const extents = { extent: lengthAt(extent, at), cells: lengthAt(cells, at) };
      const programs = {
        grids: programAt(grids, at),
        own: programAt(own, at),
        step: programAt(step, at),
        until: programAt(until, at),
      };
      const into = {
        state: state.map((leaf) => ({ ...leaf, buffer: at.writing(leaf.buffer) })),
        rounds: { ...rounds, buffer: at.writing(rounds.buffer) },
      };
      return { ...given, command: { ...given.command, ...extents, ...programs, ...into } };
    }
    case 'crossReduce': {
      const { extent, others, left, right, step, leftOwn, rightOwn, value, results } = given.command;
      const extents = { extent: lengthAt(extent, at), others: lengthAt(others, at) };
      const programs = {
        step: programAt(step, at),
        leftOwn: programAt(leftOwn, at),
        rightOwn: programAt(rightOwn, at),
        value: programAt(value, at),
      };
      const vectorsAt = (leaves: readonly VectorLeaf[]): VectorLeaf[] =>
        leaves.map(({ type, array }) => ({ type, array: bindingAt(array, at) }));
      const vectors = { left: vectorsAt(left), right: vectorsAt(right) };
      const into = { results: results.map((result) => ({ ...result, buffer: at.writing(result.buffer) })) };
      return { ...given, command: { ...given.command, ...extents, ...programs, ...vectors, ...into } };
    }
    case 'decodeTiles': {
      const { extent, tile, words, into } = given.command;
      const places = { extent: lengthAt(extent, at), tile: programAt(tile, at), words: bindingAt(words, at) };
      return { ...given, command: { ...given.command, ...places, into: cellAt(into, at) } };
    }
    case 'tileHistograms': {
      const { extent, tile, words, part, masks, bin, hidden, into } = given.command;
      const programs = { tile: programAt(tile, at), part: programAt(part, at), bin: programAt(bin, at) };
      const arrays = {
        words: bindingAt(words, at),
        masks: bindingAt(masks, at),
        hidden: hidden && { ...hidden, bits: bindingAt(hidden.bits, at) },
      };
      const places = { extent: lengthAt(extent, at), into: cellAt(into, at) };
      return { ...given, command: { ...given.command, ...places, ...programs, ...arrays } };
    }
  }
}

/** Issues a command to a backend: calls the backend's method for this kind of command. */
export function issue(backend: Backend, given: KernelCommand): void {
  switch (given.kind) {
    case 'forEach':
      backend.forEach(given.extent, given.program, given.stores);
      break;
    case 'reduce':
      backend.reduce(given.extent, given.program, given.monoid, given.into);
      break;
    case 'walk':
      backend.walk(given.command);
      break;
    case 'scan':
      backend.scan(given.command);
      break;
    case 'sort':
      backend.sort(given.command);
      break;
    case 'histogram':
      backend.histogram(given.command);
      break;
    case 'relax':
      relaxOn(backend, given.command);
      break;
    case 'crossReduce':
      crossReduceOn(backend, given.command);
      break;
    case 'weightedHistogram':
      weightedHistogramOn(backend, given.command);
      break;
    case 'decodeTiles':
      decodeTilesOn(backend, given.command);
      break;
    case 'tileHistograms':
      tileHistogramsOn(backend, given.command);
  }
}

function lengthAt(length: Length, at: Lookup): Length {
  return typeof length === 'number' ? length : { ...length, buffer: at.reading(length.buffer, length.word) };
}

function programAt({ module, arrays, uniforms }: Program, at: Lookup): Program {
  const found = new Map<string, ArrayBinding>();
  for (const [name, binding] of arrays) found.set(name, bindingAt(binding, at));
  const { uniform } = at;
  if (uniform === undefined || uniforms.size === 0) return { module, arrays: found, uniforms };
  return { module, arrays: found, uniforms: new Map([...uniforms].map(([name, value]) => [name, uniform(value)])) };
}

function bindingAt(binding: ArrayBinding, at: Lookup): ArrayBinding {
  const { buffer, length, offset } = binding;
  const range = at.range?.(buffer);
  const bound = { ...binding, buffer: at.reading(buffer, offset), length: lengthAt(length, at) };
  return range === undefined ? bound : within(bound, range);
}

/**
 * Restricts an array to a part of its new buffer: `capacity` elements from `offset`. The array is cut at the end of
 * this part.
 */
function within(
  binding: ArrayBinding,
  { offset, capacity }: { readonly offset: number; readonly capacity: number },
): ArrayBinding {
  const { length } = binding;
  const max = Math.max(0, capacity - binding.offset);
  const bounded =
    typeof length === 'number' ? Math.min(length, max) : { ...length, limit: Math.min(length.limit, max) };
  // An array that begins past the end of the part is empty; its offset is cut to the end of the part.
  return { ...binding, offset: Math.min(binding.offset, capacity) + offset, length: bounded };
}

function storesAt(stores: readonly Store[], at: Lookup): Store[] {
  return stores.map((store) => ({ ...store, buffer: at.writing(store.buffer) }));
}

function cellAt({ buffer, word }: Cell, at: Lookup): Cell {
  return { buffer: at.writing(buffer), word };
}

function callAt({ inputs, counts, results, block }: ScriptCall, at: Lookup): ScriptCall {
  return {
    inputs: inputs.map((input) => ({ ...input, buffer: at.reading(input.buffer, input.offset) })),
    counts: counts.map(({ word, length }) => ({
      word,
      length: { ...length, buffer: at.reading(length.buffer, length.word) },
    })),
    results: results.map((buffer) => at.writing(buffer)),
    block,
  };
}
