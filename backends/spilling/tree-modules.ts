import type { MonoidProgram } from '../../primitives/contract/backend.ts';
import { BLOCK, QUAD } from '../../primitives/contract/combination-tree.ts';
import { literal, operate, record } from '../../primitives/functors/recorder.ts';
import { callPlain, variantOf, wrapModule } from '../../primitives/functors/wrap-module.ts';
import {
  entryOf,
  type Local,
  type Module,
  moduleNumber,
  type Operand,
  type ScalarType,
} from '../../primitives/ir/ir.ts';
import { choose, identityWords, leafTypes, readLeaves } from './leaves.ts';

/**
 * The functions below make modules that each compute one step of the combination tree that `combination-tree.ts`
 * defines. The modules work on windows (ranges of indices) that consist of whole blocks of the tree.
 */

export const QUADS_PER_BLOCK: number = BLOCK / QUAD;

const u32 = (value: number): Operand => literal('u32', value);
const uniform = (name: string): Operand => ({ kind: 'uniform', type: 'u32', name });
const not = (condition: Operand): Operand => operate('not', [condition]);

type Values = readonly Operand[];

/** Records a module that takes an index, reads records from the named arrays and returns a record. */
function treeModule(
  monoid: MonoidProgram,
  name: string,
  arrays: readonly string[],
  uniforms: readonly string[],
  body: (index: Local, combine: (left: Values, right: Values) => Values) => Values,
): Module {
  const { module, types } = monoid;
  return variantOf(module, `${name} ${types.join()}`, () =>
    record(
      {
        name,
        parameters: ['u32'],
        results: types,
        arrays: new Map(arrays.flatMap((array) => [...leafTypes(array, types)])),
        uniforms: new Map(uniforms.map((each) => [each, 'u32'])),
      },
      ([index]) => body(index!, (left, right) => callPlain(module, [...left, ...right])),
    ),
  );
}

/**
 * Makes a module that returns the total of a quad: up to four adjacent elements of the array `element`. The uniform
 * `count` is the number of elements in this array.
 */
export function quadTotal(monoid: MonoidProgram): Module {
  const { types } = monoid;
  return treeModule(monoid, 'quadTotal', ['element'], ['count'], (quad, combine) => {
    const first = operate('mul', [quad, u32(QUAD)]);
    let total: Values = readLeaves('element', types, first);
    for (let k = 1; k < QUAD; k++) {
      const at = operate('add', [first, u32(k)]);
      const next = combine(total, readLeaves('element', types, at));
      total = choose(total, next, operate('lt', [at, uniform('count')]));
    }
    return total;
  });
}

/**
 * Makes a module that combines elements 2i and 2i + 1 of the array `group` into the total of group i. The uniform
 * `count` is the number of elements in this array.
 */
export function groupTotal(monoid: MonoidProgram): Module {
  const { types } = monoid;
  return treeModule(monoid, 'groupTotal', ['group'], ['count'], (index, combine) => {
    const left = operate('mul', [index, u32(2)]);
    const right = operate('add', [left, u32(1)]);
    const whole = readLeaves('group', types, left);
    return choose(whole, combine(whole, readLeaves('group', types, right)), operate('lt', [right, uniform('count')]));
  });
}

/**
 * Makes a module that computes one level of the prefixes of quads (four elements each). From the prefixes within groups
 * of 2^level quads, the module computes the prefixes within groups of 2^(level + 1) quads.
 */
export function quadPrefixStep(monoid: MonoidProgram): Module {
  const { types } = monoid;
  return treeModule(monoid, 'quadPrefix', ['group', 'prefix'], ['level'], (quad, combine) => {
    const level = uniform('level');
    const group = operate('shr', [quad, level]);
    const lower = operate('and', [quad, operate('sub', [operate('shl', [u32(1), level]), u32(1)])]);
    const prefix = readLeaves('prefix', types, quad);
    const left = readLeaves('group', types, operate('sub', [group, u32(1)]));
    const joined = choose(combine(left, prefix), left, operate('eq', [lower, u32(0)]));
    return choose(prefix, joined, operate('ne', [operate('and', [group, u32(1)]), u32(0)]));
  });
}

/**
 * Makes a module that computes the exclusive and inclusive prefixes of element i and passes both to `emit`. The array
 * `block` contains the prefixes of blocks, and `quad` the prefixes of quads (four elements each) within their block.
 * The exclusive prefix is (`block` ⊕ `quad`) ⊕ the fold of the elements before i in its quad. The uniform
 * `blocksBefore` is the number of blocks before the window (range of indices).
 */
export function emitPrefixes(emit: Module, monoid: MonoidProgram): Module {
  const { types, module, identity } = monoid;
  const { name, results } = entryOf(emit);
  return variantOf(emit, `prefixes ${moduleNumber(module)} ${identityWords(monoid)}`, () =>
    wrapModule(emit, {
      name,
      parameters: ['u32'],
      results,
      arrays: new Map(['element', 'quad', 'block'].flatMap((array) => [...leafTypes(array, types)])),
      uniforms: new Map([['blocksBefore', 'u32' as ScalarType]]),
      body: ([index], entry) => {
        const combine = (left: Values, right: Values): Values => callPlain(module, [...left, ...right]);
        const { before, hasBefore } = prefixBefore(index!, types, combine);
        const local = localPrefix(index!, types, combine);
        const isFirst = operate('eq', [operate('and', [index!, u32(QUAD - 1)]), u32(0)]);
        const element = readLeaves('element', types, index!);
        const included = choose(combine(local, element), element, isFirst);
        const inclusive = choose(included, combine(before, included), hasBefore);
        const neutral = identity.map((value, leaf) => literal(types[leaf]!, value));
        const atFirst = choose(neutral, before, hasBefore);
        const exclusive = choose(choose(local, combine(before, local), hasBefore), atFirst, isFirst);
        return entry([index!, ...exclusive, ...inclusive]);
      },
    }),
  );
}

/**
 * Records the fold of all elements before the quad (four elements) of element `index`, and whether such elements exist.
 */
function prefixBefore(
  index: Local,
  types: readonly ScalarType[],
  combine: (left: Values, right: Values) => Values,
): { readonly before: Values; readonly hasBefore: Operand } {
  const quad = operate('div', [index, u32(QUAD)]);
  const block = operate('div', [index, u32(BLOCK)]);
  const hasQuad = operate('ne', [operate('and', [quad, u32(QUADS_PER_BLOCK - 1)]), u32(0)]);
  const hasBlock = operate('ne', [operate('add', [block, uniform('blocksBefore')]), u32(0)]);
  const ofQuad = readLeaves('quad', types, quad);
  const ofBlock = readLeaves('block', types, block);
  const both = choose(ofQuad, combine(ofBlock, ofQuad), hasBlock);
  return { before: choose(both, ofBlock, not(hasQuad)), hasBefore: operate('or', [hasQuad, hasBlock]) };
}

/**
 * Records the fold of the elements that precede element `index` in its quad (group of four elements). For the first
 * element of a quad the value is arbitrary.
 */
function localPrefix(
  index: Local,
  types: readonly ScalarType[],
  combine: (left: Values, right: Values) => Values,
): Values {
  const place = operate('and', [index, u32(QUAD - 1)]);
  const first = operate('sub', [index, place]);
  let local: Values = readLeaves('element', types, first);
  for (let k = 1; k < QUAD - 1; k++) {
    const next = combine(local, readLeaves('element', types, operate('add', [first, u32(k)])));
    local = choose(local, next, operate('gt', [place, u32(k)]));
  }
  return local;
}

/** An emit module for scans that returns the exclusive prefix of every element. */
export function exclusiveEmit({ module, types }: MonoidProgram): Module {
  return variantOf(module, `exclusive ${types.join()}`, () =>
    record({ name: 'exclusive', parameters: ['u32', ...types, ...types], results: types }, ([, ...prefixes]) =>
      prefixes.slice(0, types.length),
    ),
  );
}
