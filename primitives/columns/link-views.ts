import { type Linkage, type LinkedInput, type Links, link, linkEntry } from '../functors/recorder.ts';
import { createStructures, NumberList } from '../host/structures.ts';
import { entryOf, type Module, moduleNumber, moduleWords, type Operand, oneOf, type ScalarType } from '../ir/ir.ts';
import { type StoredArray, type StoredOf, sameArray, type View, type ViewInput } from './column.ts';

/**
 * A functor (a recorded function) of the row index in a single module, with its arrays and uniforms. The module
 * includes the code of all views that the functor evaluates.
 */
export type Linked = Pick<View, 'module' | 'arrays' | 'uniforms'>;

/**
 * Links a view and the views that it reads into one module. Each view becomes one function, even if it is read in
 * several places. Stored views become array reads. The implementation is not recursive, because chains of views may be
 * long.
 */
export function linkViews(root: View, storedOf: StoredOf = () => undefined): Linked {
  const arrays = new Arrays();
  const nodes = nodesOf(root, arrays, storedOf);
  const uniforms = new Map<string, number | boolean>();
  key.clear();
  for (const { view, arrayNumbers, inputs } of nodes) {
    for (const value of view.uniforms.values()) uniforms.set(`u${uniforms.size}`, value);
    key.push(moduleNumber(view.module));
    key.push(arrayNumbers.length);
    key.push(inputs.length);
    for (const array of arrayNumbers) key.push(array);
    for (const input of inputs) pushInput(input);
  }
  const module = linkedBefore.get(key) ?? remember(linkNodes(nodes, arrays));
  return { module, arrays: arrays.named(), uniforms };
}

/** A view that is being linked, in depth-first order. */
interface Node {
  readonly view: View;
  /** Indices of the view's arrays in the linked module, in the view's order. */
  readonly arrayNumbers: number[];
  /**
   * For every input of the view, the index of its node. For a stored input, instead a map from the index of each result
   * to the index of the array that holds the result.
   */
  readonly inputs: (number | ReadonlyMap<number, number>)[];
  next: number;
}

/** The arrays of the linked module. An array that is read with several types has one entry for each type. */
class Arrays {
  readonly stored: StoredArray[] = [];
  readonly types: ScalarType[] = [];

  numberOf(array: StoredArray, type: ScalarType): number {
    const known = this.stored.findIndex((other, i) => this.types[i] === type && sameArray(other, array));
    if (known >= 0) return known;
    this.types.push(type);
    return this.stored.push(array) - 1;
  }

  named(): Map<string, StoredArray> {
    return new Map(this.stored.map((array, number) => [nameOf(number), array]));
  }
}

function nameOf(array: number): string {
  return `a${array}`;
}

/**
 * Nodes for `root` and for the unstored views that `root` reads, directly or indirectly. Each node comes before the
 * nodes of the views that read it; the root is last.
 */
function nodesOf(root: View, arrays: Arrays, storedOf: StoredOf): Node[] {
  const nodes: Node[] = [];
  const numbers = new Map<View, number>();
  const open: Node[] = [{ view: root, arrayNumbers: [], inputs: [], next: 0 }];
  for (let node = open.at(-1); node !== undefined; node = open.at(-1)) {
    const { view, arrayNumbers, inputs } = node;
    const read = view.reads[node.next];
    if (read === undefined) {
      open.pop();
      numbers.set(view, nodes.length);
      nodes.push(node);
    } else if (typeof read === 'string') {
      arrayNumbers.push(arrays.numberOf(view.arrays.get(read)!, view.module.arrays.get(read)!));
      node.next++;
    } else {
      const linked = numbers.get(read.view) ?? storedNumbers(read, arrays, storedOf);
      if (linked === undefined) open.push({ view: read.view, arrayNumbers: [], inputs: [], next: 0 });
      else {
        inputs.push(linked);
        node.next++;
      }
    }
  }
  return nodes;
}

function storedNumbers(input: ViewInput, arrays: Arrays, storedOf: StoredOf): ReadonlyMap<number, number> | undefined {
  const stored = storedOf(input);
  if (stored === undefined) return undefined;
  const types = entryOf(input.view.module).results;
  return new Map(input.results.map((result) => [result, arrays.numberOf(stored.get(result)!, types[result]!)]));
}

function linkNodes(nodes: readonly Node[], { types }: Arrays): Module {
  const linkage: Linkage = { functions: [], linked: new Map() };
  const uniforms = new Map<string, ScalarType>();
  const functions: string[] = [];
  const linkedInput = (input: Node['inputs'][number]): LinkedInput =>
    typeof input === 'number'
      ? functions[input]!
      : new Map([...input].map(([result, array]) => [result, nameOf(array)] as const));
  for (const [number, { view, arrayNumbers, inputs }] of nodes.entries()) {
    const { module } = view;
    const links: Links = {
      arrays: new Map([...view.arrays.keys()].map((name, i) => [name, nameOf(arrayNumbers[i]!)])),
      uniforms: new Map([...module.uniforms].map(([name, type]) => [name, addUniform(uniforms, type)])),
      inputs: new Map(inputs.map((input, i) => [view.inputs[i]!.name, linkedInput(input)])),
    };
    if (number === nodes.length - 1) linkEntry(linkage, module, links);
    else functions.push(link(linkage, module, links));
  }
  const arrays = new Map(types.map((type, array) => [nameOf(array), type]));
  return oneOf({ functions: linkage.functions, arrays, uniforms });
}

function addUniform(uniforms: Map<string, ScalarType>, type: ScalarType): Operand {
  const name = `u${uniforms.size}`;
  uniforms.set(name, type);
  return { kind: 'uniform', type, name };
}

const key = new NumberList();

/**
 * Appends an input to the cache key: the index of its node or, for a stored input, the indices of its results and of
 * the arrays that hold the results.
 */
function pushInput(input: Node['inputs'][number]): void {
  if (typeof input === 'number') {
    key.push(-1);
    key.push(input);
    return;
  }
  key.push(input.size);
  for (const [result, array] of input) {
    key.push(result);
    key.push(array);
  }
}

/**
 * Maximum memory of the cache of linked modules, in 32-bit words: 8 MB. A loop that calls the same pipelines again and
 * again needs far less.
 */
const MAX_WORDS = 2 ** 21;

/** Cache of linked modules. The key describes which functions, arrays and inputs are linked. */
const linkedBefore = createStructures<Module>(MAX_WORDS, moduleWords);

function remember(module: Module): Module {
  linkedBefore.set(key, module);
  return module;
}
