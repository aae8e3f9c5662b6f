import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type SlotFacts, type UnrolledProgram, unroll } from '../../../backends/webgpu/wgsl/unroll.ts';
import type { Local, Module, Operand, OperationName, ScalarType, Statement } from '../../../primitives/ir/ir.ts';
import { typeOf } from '../../../primitives/ir/operations.ts';
import { caseCount } from '../../cases.ts';
import { interpret } from '../../support/ir-interpreter.ts';
import { bind, give, literal, local, moduleOf, randomWords, readAt } from '../../support/webgpu-support.ts';

/**
 * Number of indices. The first two arrays have an element for every index, and the third array is shorter. The second
 * uniform also has this value.
 */
const N = 40;
const arrays = [randomWords(N, 1), randomWords(N + 9, 2), randomWords(7, 3)];
const uniforms = [5, N];
const facts: SlotFacts = {
  array: String,
  uniform: String,
  covers: (slot) => slot < 2,
  bounds: (slot) => slot === 1,
};
const slots = { array: Number, uniform: Number };
const bindings = {
  arrays: Object.fromEntries(arrays.map((array, slot) => [`${slot}`, array])),
  uniforms: Object.fromEntries(uniforms.map((value, slot) => [`${slot}`, value])),
};
const types: Record<string, ScalarType> = { 0: 'u32', 1: 'u32', 2: 'u32' };
const bounds: Record<string, ScalarType> = { 0: 'u32', 1: 'u32' };

const names: readonly OperationName[] = [
  ...(['add', 'sub', 'min', 'max', 'mul', 'eq', 'ne', 'lt', 'le', 'gt', 'ge', 'and', 'or', 'xor', 'not'] as const),
  ...(['select', 'convert', 'div'] as const),
];

/**
 * Straight-line programs with an index and other values as parameters. The programs read elements near the index, and
 * use the index in arithmetic and comparisons.
 */
function lines(parameters: readonly ScalarType[], results: readonly ScalarType[]): fc.Arbitrary<Module> {
  return fc.array(fc.nat(0x7fffffff), { minLength: 20, maxLength: 160, size: 'max' }).map((tape) => {
    let next = 0;
    const draw = (below: number): number => (tape[next++ % tape.length]! + next) % below;
    const given = parameters.map((type, i) => local(type, i));
    const index = given[0]!;
    const known: Operand[] = [...given];
    const body: Statement[] = [];
    const declare = (type: ScalarType): Local => local(type, parameters.length + body.length);
    const add = (statement: Statement & { readonly local: Local }): void => {
      body.push(statement);
      known.push(statement.local);
    };
    const near: Operand[] = [index];
    const operand = (type?: ScalarType): Operand => {
      const small = literal('u32', [0, 1, 2, 3, 4, 5, 2 ** 32 - 1, 2 ** 32 - 3][draw(8)]!);
      const choices: Operand[] = [
        ...known.slice(-6),
        index,
        small,
        literal('bool', draw(2) === 0),
        near[draw(near.length)]!,
        { kind: 'uniform', type: 'u32', name: `${draw(2)}` } as const,
      ];
      const fitting = choices.filter((each) => type === undefined || each.type === type);
      return fitting[draw(fitting.length)]!;
    };
    for (const [name, by] of [
      ['add', 1 + draw(5)],
      ['sub', 1 + draw(5)],
    ] as const) {
      add({ kind: 'let', local: declare('u32'), operation: { name, operands: [index, literal('u32', by)] } });
      near.push(known.at(-1)!);
    }
    for (let made = 0; made < 12; made++) {
      if (draw(3) === 0) {
        add({ kind: 'read', local: declare('u32'), array: `${draw(3)}`, index: operand('u32') });
        continue;
      }
      const name = names[draw(names.length)]!;
      const operands =
        name === 'select'
          ? [operand('u32'), operand('u32'), operand('bool')]
          : ['not', 'convert'].includes(name)
            ? [operand()]
            : [operand('u32'), operand('u32')];
      const wanted = typeOf(
        name,
        operands.map(({ type }) => type),
        draw(2) === 0 ? 'u32' : 'bool',
      );
      if (wanted !== undefined) add({ kind: 'let', local: declare(wanted), operation: { name, operands } });
    }
    // Adds up all computed values, so that every result depends on each of them.
    let sum: Operand = literal('u32', 7);
    for (const value of known) {
      const [word, scaled, next] = [0, 1, 2].map((more) => local('u32', parameters.length + body.length + more)) as [
        Local,
        Local,
        Local,
      ];
      body.push(bind(word, 'convert', value), bind(scaled, 'mul', sum, literal('u32', 33)));
      body.push(bind(next, 'add', scaled, word));
      sum = next;
    }
    const odd = local('bool', parameters.length + body.length);
    body.push(bind(odd, 'lt', sum, literal('u32', 2 ** 31)));
    body.push(give(...results.map((type) => (type === 'bool' ? odd : sum))));
    return moduleOf(given, results, body, types, bounds);
  });
}

function moduleOfLines(
  parameters: readonly ScalarType[],
  results: readonly ScalarType[],
): fc.Arbitrary<UnrolledProgram> {
  return lines(parameters, results).map((module) => ({ module, slots }));
}

describe('programs unrolled for a run of indices', () => {
  const leaves: readonly ScalarType[] = ['u32', 'u32'];
  const emitted: readonly ScalarType[] = ['bool', 'u32', 'u32'];

  test('give the same results as one by one', () => {
    fc.assert(
      fc.property(
        moduleOfLines(['u32'], leaves),
        moduleOfLines(['u32', ...leaves, ...leaves], emitted),
        fc.constantFrom(2, 4, 8),
        fc.boolean(),
        fc.nat(),
        (program, emit, run, heads, seed) => {
          const unrolled = unroll(program, emit, leaves, run, heads, facts)!;
          const first = run * (1 + (seed % (Math.floor((N - 1) / run) - 1)));
          const taps = unrolled.taps.map(({ slot, shift }) => arrays[slot]![first + shift]!);
          const at = Array.from({ length: run }, (_, k) => first + k);
          const values = at.map((i) => interpret(program.module, [i], bindings).map(({ value }) => value));
          const expected = heads ? values.map(([flag, ...rest]) => [flag !== 0, ...rest]) : values;
          const given = unrolled.element.taps.map((tap) => taps[tap]!);
          const got = interpret(unrolled.element.module, [first, ...given], bindings);
          expect(got.map(({ value }) => value)).toEqual(expected.flat());

          const states = Array.from({ length: run + 1 }, (_, k) => [...randomWords(2, seed + k)]);
          const results = at.map((i, k) => interpret(emit.module, [i, ...states[k]!, ...states[k + 1]!], bindings));
          const known = [
            ...unrolled.emit.taps.map((tap) => taps[tap]!),
            ...unrolled.emit.heads.map((k) => values[k]![0] !== 0),
          ];
          const written = interpret(unrolled.emit.module, [first, ...known, ...states.flat()], bindings);
          expect(written.map(({ value }) => value)).toEqual(results.flat().map(({ value }) => value));
        },
      ),
      { numRuns: caseCount(1000) },
    );
  });

  test('read each word once, and skip the check of the last index', () => {
    const [index, before, min, left, right] = [0, 1, 2, 3, 4].map((id) => local('u32', id)) as [
      Local,
      Local,
      Local,
      Local,
      Local,
    ];
    const [isFirst, differ, head] = [5, 6, 7].map((id) => local('bool', id)) as [Local, Local, Local];
    const flag = local('u32', 8);
    const starts = moduleOf(
      [index],
      ['u32', 'u32'],
      [
        bind(min, 'min', index, literal('u32', 1)),
        bind(before, 'sub', index, min),
        bind(isFirst, 'eq', index, literal('u32', 0)),
        readAt(left, '0', before),
        readAt(right, '0', index),
        bind(differ, 'ne', left, right),
        bind(head, 'or', isFirst, differ),
        bind(flag, 'convert', head),
        give(flag, right),
      ],
      { 0: 'u32' },
    );
    const parameters = [index, ...[11, 12, 13, 14].map((id) => local('u32', id))];
    const [after, next, here, place] = [15, 16, 17, 18].map((id) => local('u32', id)) as [Local, Local, Local, Local];
    const [isLast, ends, last] = [19, 20, 21].map((id) => local('bool', id)) as [Local, Local, Local];
    const emit = moduleOf(
      parameters,
      ['bool', 'u32', 'u32'],
      [
        bind(after, 'add', index, literal('u32', 1)),
        readAt(next, '0', after),
        bind(isLast, 'ge', after, { kind: 'uniform', type: 'u32', name: '1' }),
        readAt(here, '0', index),
        bind(ends, 'ne', here, next),
        bind(last, 'or', isLast, ends),
        bind(place, 'sub', parameters[3]!, literal('u32', 1)),
        give(last, place, here),
      ],
      { 0: 'u32' },
      { 1: 'u32' },
    );
    const unrolled = unroll({ module: starts, slots }, { module: emit, slots }, ['u32', 'u32'], 4, true, facts)!;
    expect(unrolled.taps.map(({ shift }) => shift).sort((a, b) => a - b)).toEqual([-1, 0, 1, 2, 3, 4]);
    const operationsOf = (module: Module): string[] =>
      module.functions[0]!.body.map((statement) =>
        statement.kind === 'let' ? statement.operation.name : statement.kind,
      );
    expect(operationsOf(unrolled.element.module)).toEqual(['ne', 'ne', 'ne', 'ne', 'return']);
    // A run of equal keys ends where the next element is a head (the first element of a run). So only the last of the
    // four elements has to be compared with its successor.
    expect(unrolled.emit.heads).toEqual([1, 2, 3]);
    expect(operationsOf(unrolled.emit.module).sort()).toEqual(['ne', 'return', 'sub', 'sub', 'sub', 'sub']);
  });

  test('are not unrolled when they branch or loop', () => {
    const index = local('u32', 0);
    const branching = moduleOf(
      [index],
      ['u32'],
      [{ kind: 'if', condition: literal('bool', true), consequent: [give(index)], alternative: [] }, give(index)],
    );
    const straight = moduleOf([index, local('u32', 1), local('u32', 2)], ['u32'], [give(index)]);
    const plain = moduleOf([index], ['u32'], [give(index)]);
    const [branch, emit, program] = [branching, straight, plain].map((module) => ({ module, slots }));
    expect(unroll(branch!, emit!, ['u32'], 4, false, facts)).toBeUndefined();
    expect(unroll(program!, emit!, ['u32'], 4, false, facts)).toBeDefined();
  });
});
