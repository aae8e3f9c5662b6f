import fc from 'fast-check';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import * as laws from '../index.ts';
import { type Arguments, context, foreign, opaque, type ValidCalls } from './valid-call.ts';

const wide = (): Arguments => ({ x: 5n });
const words = (): Arguments => ({ words: { lo: 1, hi: 0 } });
const ALL_LAWS = 'it would try all laws, which takes minutes';
const DIFFERENT = { '*': 'what differs ends in a plain error, as assertions do' };
const same = { actual: { x: [1] }, expected: { x: [1] } };

export const propertyTestCalls: ValidCalls = {
  assertSame: { args: () => ({ ...same, 'what?': 'sums' }), takes: DIFFERENT },
  assertSameBytes: { args: () => ({ ...same, what: 'sums', 'nanBits?': true }), takes: DIFFERENT },
  checkBackend: {
    args: () => ({
      createBackend: createReferenceBackend,
      'options?': { 'numRuns?': 1, 'seed?': 1, 'laws?': [{ ...laws.allLaws[0]! }] },
    }),
    takes: {
      'options: nothing': ALL_LAWS,
      'options: an object': ALL_LAWS,
      'options.laws: nothing': ALL_LAWS,
      'options.laws.0.property: a function': 'fast-check says itself that it makes no property',
    },
  },
  createRun: { args: () => ({ context, reference: foreign }) },
  hostColumn: () => ({ kind: 'u32', rows: 3, recipe: { pattern: 'zeros', seed: 1 } }),
  law: () => ({ name: 'nothing changes', arbitraries: [opaque(fc.nat())], check: async () => {} }),
  ofSigned: wide,
  ofUnsigned: wide,
  present: {
    args: () => ({ context, rows: { x: Uint32Array.of(1) }, how: 'stored' }),
    takes: { 'rows.x: an array': 'booleans are in arrays' },
  },
  randomWords: () => ({ seed: 1 }),
  rowsForAny: () => ({
    samples: laws.exactMonoids.slice(0, 1).map((each) => opaque({ ...each })),
    'size?': opaque(fc.nat()),
  }),
  rowsOf: () => ({ fields: { x: 'u32' }, 'size?': opaque(fc.nat()) }),
  signed: words,
  unsigned: words,
};
