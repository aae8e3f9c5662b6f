import type {
  ArrayBinding,
  DeviceBuffer,
  KernelCommand,
  KernelKind,
  Length,
  MonoidProgram,
  Program,
  ScanForm,
  StateLeaf,
  Storage,
  Store,
} from '../../../primitives/contract/backend.ts';
import { COMMAND_PARTS, isList, type Part } from '../../../primitives/contract/visit-command.ts';
import { NumberList } from '../../../primitives/host/structures.ts';
import { moduleNumber, type ScalarType } from '../../../primitives/ir/ir.ts';
import type { Memory, MemoryPool } from '../memory/memory.ts';

/** A part of commands; records and lists of parts in a form that takes little time to go through. */
type SignedPart = Extract<Part, string> | { readonly fields: readonly Field[] } | { readonly each: SignedPart };

interface Field {
  readonly name: string;
  readonly part: SignedPart;
}

function fieldsOf(parts: { readonly [field: string]: Part }): readonly Field[] {
  return Object.entries(parts).map(([name, part]) => ({ name, part: signedPart(part) }));
}

function signedPart(part: Part): SignedPart {
  if (typeof part === 'string') return part;
  return isList(part) ? { each: signedPart(part[0]) } : { fields: fieldsOf(part) };
}

const KINDS = Object.keys(COMMAND_PARTS) as KernelKind[];
const SIGNED = Object.fromEntries(
  KINDS.map((kind, number) => [kind, { number, fields: fieldsOf(COMMAND_PARTS[kind]) }]),
) as { readonly [K in KernelKind]: { readonly number: number; readonly fields: readonly Field[] } };

/** The fields of all kinds of targets. */
type AnyTarget = { readonly buffer: DeviceBuffer; readonly word?: number } & Partial<Store & Pick<StateLeaf, 'type'>>;

/**
 * The signature of a command: a list of numbers that determines its launches. The list contains the module numbers, the
 * lengths, offsets and capacities, and the lengths of the buffers. It also contains a number for each buffer, which
 * shows which arrays share a buffer. The buffers themselves and the values of uniforms are not in the list but are
 * collected in `memories` and `uniforms`.
 */
export class CommandSignature {
  readonly list: NumberList = new NumberList();
  /** The different buffers of the command, in the order of their first use. */
  readonly memories: Memory[] = [];
  /** The values of uniforms, program by program, in the order in which the modules declare them. */
  readonly uniforms: (number | boolean)[] = [];
  readonly #pool: Pick<MemoryPool, 'resolve'>;

  constructor(pool: Pick<MemoryPool, 'resolve'>) {
    this.#pool = pool;
  }

  clear(): void {
    this.list.clear();
    this.memories.length = 0;
    this.uniforms.length = 0;
  }

  number(value: number | undefined): void {
    this.list.push(value ?? -1);
  }

  #length(length: Length): void {
    if (typeof length === 'number') {
      this.list.push(-1);
      this.list.push(length);
      return;
    }
    this.buffer(length.buffer);
    this.list.push(length.word);
    this.list.push(length.minus);
    this.list.push(length.limit);
  }

  #program({ module, arrays, uniforms }: Program): void {
    const { list } = this;
    list.push(moduleNumber(module));
    for (const name of module.arrays.keys()) this.#array(arrays.get(name)!);
    for (const name of module.uniforms.keys()) this.uniforms.push(uniforms.get(name)!);
  }

  #monoid({ module, identity, exact, commutative }: MonoidProgram): void {
    const { list } = this;
    list.push(moduleNumber(module));
    for (const value of identity) list.push(Number(value));
    list.push(Number(exact) + 2 * Number(commutative));
  }

  #form(form: ScanForm): void {
    const { list } = this;
    list.push(FORMS.indexOf(form.kind));
    if (form.kind === 'runs') this.#monoid(form.inner);
    if (form.kind !== 'compact') return;
    list.push(form.selected);
    list.push(form.rejected ?? -1);
  }

  #array({ buffer, storage, offset, length }: ArrayBinding): void {
    this.buffer(buffer);
    this.list.push(STORAGES[storage]);
    this.list.push(offset);
    this.#length(length);
  }

  /** Appends what a store, a cell, or an array that is updated in place has of these fields. */
  #target({ buffer, word, offset, capacity, value, index, guard, combine, type }: AnyTarget): void {
    const { list } = this;
    this.buffer(buffer);
    list.push(word ?? offset!);
    list.push(capacity ?? -1);
    list.push(value ?? -1);
    list.push(index ?? -1);
    list.push(guard ?? -1);
    list.push(combine === undefined ? -1 : COMBINATIONS.indexOf(combine));
    list.push(type === undefined ? -1 : TYPES.indexOf(type));
  }

  /** Appends values without buffers: numbers, words, and lists and records of values. */
  #value(value: unknown): void {
    const { list } = this;
    if (typeof value === 'object' && value !== null) {
      const values = Object.values(value);
      list.push(values.length);
      for (const each of values) this.#value(each);
    } else if (typeof value === 'string') {
      list.push(value.length);
      for (let i = 0; i < value.length; i++) list.push(value.charCodeAt(i));
    } else list.push(Number(value ?? -1));
  }

  /** Appends a command: its kind, and all its parts. */
  command(command: KernelCommand): void {
    const { number, fields } = SIGNED[command.kind];
    this.list.push(number);
    this.#fields(command, fields);
  }

  #fields(record: object, fields: readonly Field[]): void {
    for (const { name, part } of fields) this.#part((record as { readonly [field: string]: unknown })[name], part);
  }

  #part(given: unknown, part: SignedPart): void {
    if (given === undefined) {
      this.list.push(-1);
      return;
    }
    switch (part) {
      case 'extent':
        this.#length(given as Length);
        break;
      case 'program':
        this.#program(given as Program);
        break;
      case 'array':
        this.#array(given as ArrayBinding);
        break;
      case 'target':
        this.#target(given as AnyTarget);
        break;
      case 'monoid':
        this.#monoid(given as MonoidProgram);
        break;
      case 'form':
        this.#form(given as ScanForm);
        break;
      case 'value':
        this.#value(given);
        break;
      default:
        if ('fields' in part) this.#fields(given as object, part.fields);
        else {
          this.list.push((given as readonly unknown[]).length);
          for (const each of given as readonly unknown[]) this.#part(each, part.each);
        }
    }
  }

  buffer(buffer: DeviceBuffer): void {
    const { list, memories } = this;
    const memory = this.#pool.resolve(buffer);
    const known = memories.indexOf(memory);
    list.push(known < 0 ? memories.length : known);
    if (known >= 0) return;
    memories.push(memory);
    list.push(memory.words);
    list.push(memory.parts.length);
    for (const { bytes } of memory.parts) list.push(bytes);
  }
}

const STORAGES: Readonly<Record<Storage, number>> = { u32: 0, i32: 1, f32: 2, u8: 3, i8: 4, u16: 5, i16: 6 };
const TYPES: readonly ScalarType[] = ['u32', 'i32', 'f32', 'bool'];
const FORMS: readonly ScanForm['kind'][] = ['compact', 'runs'];
const COMBINATIONS: readonly Store['combine'][] = ['add', 'and', 'or', 'xor', 'min', 'max'];
