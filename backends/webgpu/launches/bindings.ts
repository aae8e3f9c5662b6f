import type { AtomicCombination } from '../../../primitives/contract/backend.ts';
import type { Memory } from '../memory/memory.ts';
import type { BufferPart } from '../memory/part.ts';

/**
 * `update` is for words that are both read and written; `spine` for words that workgroups of one dispatch use to
 * communicate.
 */
export type Access = 'read' | 'write' | 'update' | 'atomic' | 'spine';

/** A range of the parts of a device buffer, as a kernel binds it. */
export interface Binding {
  readonly memory: Memory;
  readonly access: Access;
  readonly first: number;
  readonly count: number;
}

/**
 * The storage buffers of one kernel. A binding of several parts looks like a single array of words that starts at its
 * first part.
 */
export interface Bindings {
  /** Binds a buffer, or `count` of its parts starting at `first`; returns the index of the binding. */
  bind(memory: Memory, access: Access, first?: number, count?: number): number;
  /**
   * Makes a buffer readable by fours too: `quad_n(q)` is the four words from 4q on, `quad_n_x(q)` … `quad_n_w(q)` one
   * of them. Returns whether that is possible: the buffer must be a single part with a multiple of four words.
   */
  readByFours(slot: number): boolean;
  /** Number of storage buffers in use. */
  readonly size: number;
  readonly parts: readonly BufferPart[];
  /** Everything about the bindings that affects compiled code. */
  key(): string;
  /** One letter a storage buffer, as {@link Compiler.kernel} expects. */
  access(): string;
  /**
   * WGSL declarations of the buffers, and of functions that read and write them: `load_n`, `store_n`, `add_n`, `peek_n`
   * …
   */
  declarations(): string;
}

/** Whether two bindings cover the same parts of the same buffer. */
export function samePlace(a: Omit<Binding, 'access'>, b: Omit<Binding, 'access'>): boolean {
  return a.memory === b.memory && a.first === b.first && a.count === b.count;
}

export function createBindings(): Bindings {
  const list: Binding[] = [];
  const parts: BufferPart[] = [];
  const byFours = new Set<number>();
  return {
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
  const element = access === 'atomic' || access === 'spine' ? 'atomic<u32>' : 'u32';
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

/** Adds to a word; returns whether the sum overflowed 32 bits. */
function carrier(slot: number, name: string): string {
  return `fn carry_${slot}(word: u32, value: u32) -> bool { return atomicAdd(&${name}[word], value) > ~value; }`;
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
    case 'spine': {
      const [name] = names;
      return [
        `fn peek_${slot}(word: u32) -> u32 { return atomicLoad(&${name}[word]); }`,
        `fn raise_${slot}(word: u32, value: u32) { atomicMax(&${name}[word], value); }`,
        `fn count_${slot}(word: u32) -> u32 { return atomicAdd(&${name}[word], 1u); }`,
      ];
    }
  }
}
