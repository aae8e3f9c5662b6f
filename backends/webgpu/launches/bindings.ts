import type { AtomicCombination } from '../../../primitives/contract/backend.ts';
import type { Memory } from '../memory/memory.ts';
import type { BufferPart } from '../memory/part.ts';
import type { Parameters } from './parameters.ts';

/**
 * How a kernel accesses a buffer. With `update`, the kernel both reads and writes words. With `atomic`, it only
 * combines values into words. With `spine`, the workgroups of one dispatch communicate through atomic words. With
 * `links`, threads read words that others lower.
 */
export type Access = 'read' | 'write' | 'update' | 'atomic' | 'spine' | 'links';

/**
 * A range of parts (GPU buffers) of a device buffer that a kernel binds as one array: `count` parts from part `first`
 * on.
 */
export interface Binding {
  readonly memory: Memory;
  readonly access: Access;
  readonly first: number;
  readonly count: number;
}

/**
 * The storage buffers of one kernel, with the parameters of its command. In WGSL, a binding of several parts is
 * accessed as one array of words that starts at the first part.
 */
export interface Bindings {
  readonly parameters: Parameters;
  /** Binds a buffer, or only `count` parts from part `first` on. Returns the number of the binding. */
  bind(memory: Memory, access: Access, first?: number, count?: number): number;
  /**
   * Lets the kernel also read four words of binding n at once: `quad_n(q)` returns the words 4q … 4q + 3, and
   * `quad_n_x(q)` … `quad_n_w(q)` return a single word of the four. Returns whether this is possible: the binding must
   * have the access `read` and must be a single part (GPU buffer) with a multiple of four words.
   */
  readByFours(slot: number): boolean;
  /** Number of GPU buffers that are bound. */
  readonly size: number;
  readonly parts: readonly BufferPart[];
  /** Identifies the WGSL declarations of the bindings, for the cache of pipelines. */
  key(): string;
  /** The access to each GPU buffer, as one letter per buffer, as {@link Compiler.kernel} expects. */
  access(): string;
  /**
   * WGSL declarations of the buffers, and of functions that read and write the words of binding n: `load_n`, `store_n`,
   * `add_n`, `peek_n` …
   */
  declarations(): string;
}

/** Whether two bindings cover the same parts of the same buffer. */
export function samePlace(a: Omit<Binding, 'access'>, b: Omit<Binding, 'access'>): boolean {
  return a.memory === b.memory && a.first === b.first && a.count === b.count;
}

export function createBindings(parameters: Parameters): Bindings {
  const list: Binding[] = [];
  const parts: BufferPart[] = [];
  const byFours = new Set<number>();
  return {
    parameters,
    bind(memory, access, first = 0, count = memory.parts.length - first) {
      const binding: Binding = { memory, access, first, count };
      const known = list.findIndex((other) => other.access === access && samePlace(other, binding));
      if (known >= 0) return known;
      for (let part = first; part < first + count; part++) parts.push(memory.parts[part]!);
      return list.push(binding) - 1;
    },
    readByFours(slot) {
      const { memory, access, first, count } = list[slot]!;
      const can = access === 'read' && count === 1 && memory.parts[first]!.bytes % 16 === 0;
      if (can) {
        byFours.add(slot);
        memory.onFours?.();
      }
      return can;
    },
    get size() {
      return parts.length;
    },
    parts,
    key: () => list.map(({ access, count }, slot) => `${access}${count}${byFours.has(slot) ? 'q' : ''}`).join(''),
    access: () => list.map(({ access, count }) => (access === 'read' ? 'r' : 'w').repeat(count)).join(''),
    declarations() {
      let binding = 0;
      return list
        .map((each, slot) => {
          const names = Array.from({ length: each.count }, () => `b${binding++}`);
          if (byFours.has(slot)) return readerByFours(slot, names[0]!);
          return [...names.map((name) => declare(name, each.access)), ...accessors(slot, each, names)].join('\n');
        })
        .join('\n');
    },
  };
}

const atomics: Readonly<Record<AtomicCombination, string>> = {
  add: 'atomicAdd',
  and: 'atomicAnd',
  or: 'atomicOr',
  xor: 'atomicXor',
  min: 'atomicMin',
  max: 'atomicMax',
};

function declare(name: string, access: Access): string {
  const space = access === 'read' ? 'storage, read' : 'storage, read_write';
  const element = ['atomic', 'spine', 'links'].includes(access) ? 'atomic<u32>' : 'u32';
  return `@group(1) @binding(${name.slice(1)}) var<${space}> ${name}: array<${element}>;`;
}

function readerByFours(slot: number, name: string): string {
  const words = [...'xyzw'].map(
    (word) => `fn quad_${slot}_${word}(quad: u32) -> u32 { return ${name}[quad].${word}; }`,
  );
  return `@group(1) @binding(${name.slice(1)}) var<storage, read> ${name}: array<vec4<u32>>;
fn load_${slot}(word: u32) -> u32 { return ${name}[word >> 2u][word & 3u]; }
fn quad_${slot}(quad: u32) -> vec4<u32> { return ${name}[quad]; }
${words.join('\n')}`;
}

/** WGSL of `carry_n(word, value)`, which adds to a word and returns whether the sum overflowed 32 bits. */
function carrier(slot: number, name: string): string {
  return `fn carry_${slot}(word: u32, value: u32) -> bool { return atomicAdd(&${name}[word], value) > ~value; }`;
}

function peeker(slot: number, name: string): string {
  return `fn peek_${slot}(word: u32) -> u32 { return atomicLoad(&${name}[word]); }`;
}

function accessors(slot: number, { access, memory }: Binding, names: readonly string[]): string[] {
  const select = (statement: (name: string, word: string) => string): string => {
    if (names.length === 1) return statement(names[0]!, 'word');
    const inPart = `word & ${2 ** memory.shift - 1}u`;
    const cases = names.map((name, part) => `case ${part}u: { ${statement(name, inPart)} }`);
    return `switch word >> ${memory.shift}u { ${cases.join(' ')} default: {} }`;
  };
  const load = (read: (name: string, word: string) => string): string =>
    `fn load_${slot}(word: u32) -> u32 { ${select((name, word) => `return ${read(name, word)};`)}${names.length > 1 ? ' return 0u;' : ''} }`;
  const change = (function_: string, write: (name: string, word: string) => string): string =>
    `fn ${function_}_${slot}(word: u32, value: u32) { ${select((name, word) => `${write(name, word)};`)} }`;
  switch (access) {
    case 'read':
      return [load((name, word) => `${name}[${word}]`)];
    case 'write':
      return [change('store', (name, word) => `${name}[${word}] = value`)];
    case 'update':
      return [load((name, word) => `${name}[${word}]`), change('store', (name, word) => `${name}[${word}] = value`)];
    case 'atomic':
      return [
        ...Object.entries(atomics).map(([operation, builtin]) =>
          change(operation, (name, word) => `${builtin}(&${name}[${word}], value)`),
        ),
        ...(names.length === 1 ? [carrier(slot, names[0]!)] : []),
      ];
    case 'links':
      return [
        peeker(slot, names[0]!),
        `fn lower_${slot}(word: u32, value: u32) -> u32 { return atomicMin(&${names[0]!}[word], value); }`,
      ];
    case 'spine': {
      const [name] = names;
      return [
        peeker(slot, name!),
        `fn raise_${slot}(word: u32, value: u32) { atomicMax(&${name}[word], value); }`,
        `fn count_${slot}(word: u32) -> u32 { return atomicAdd(&${name}[word], 1u); }`,
      ];
    }
  }
}
