import { aColumn, aContext } from '../../primitives/checks/argument-kinds.ts';
import { isPlain, isRecord } from '../../primitives/checks/given.ts';
import {
  aBigint,
  aNumber,
  anArrayOf,
  anInstance,
  anything,
  aRecord,
  aText,
  aWhole,
  aWord,
  type Flaw,
  type Homes,
  type Kind,
  optional,
  someOptions,
} from '../../primitives/checks/kinds.ts';
import { aMaqTree } from '../maq-tree/tree.ts';
import { type ColumnKind, MAX_PLACES } from './host-table.ts';
import { storedOf } from './unsorted-strings.ts';

const fields = (part: unknown): { readonly [name: string]: unknown } => (isRecord(part) && isPlain(part) ? part : {});

/** Validator of records of several variants. The field `kind` determines which other fields a record has. */
function aVariant(expected: string, kinds: { readonly [kind: string]: { readonly [field: string]: Kind } }): Kind {
  return (part, path, homes) => {
    const { kind } = fields(part);
    if (typeof kind !== 'string' || !Object.hasOwn(kinds, kind)) {
      const flawed = 'kind' in fields(part) ? { path: `${path}.kind`, part: kind } : { path, part };
      return { ...flawed, expected: 'kind' in fields(part) ? Object.keys(kinds).join(', ') : expected };
    }
    return aRecord(kinds[kind]!)(part, path, homes);
  };
}

const aDecimal: Kind = aRecord({ units: aBigint, scale: aWhole(0, MAX_PLACES) });

const PLAIN = ['number', 'bigint', 'boolean', 'string'];

export const aLiteral: Kind = (part, path, homes) => {
  if (part === null || PLAIN.includes(typeof part)) return undefined;
  if (aDecimal(part, path, homes) === undefined) return undefined;
  return { path, part, expected: 'a number, a bigint, a boolean, a text, a decimal or null' };
};

/** Validator of an array, of which there may be millions of elements: no path is written but that of a flaw. */
export function manyOf(kind: Kind): Kind {
  return (part, path, homes) => {
    if (!Array.isArray(part)) return anArrayOf(kind)(part, path, homes);
    for (let i = 0; i < part.length; i++) {
      if (kind(part[i], path, homes) !== undefined) return kind(part[i], `${path}[${i}]`, homes);
    }
    return undefined;
  };
}

/** Maximum depth of a tree of expressions. A deeper tree probably contains itself. */
const DEEPEST = 1000;

/**
 * Validator of a tree of expressions or conditions. The validator calls itself for the children of a node, up to a
 * depth of `DEEPEST`.
 */
function nested(kind: () => Kind, expected: string): Kind {
  let depth = 0;
  return (part, path, homes): Flaw | undefined => {
    if (depth > DEEPEST) return { path: 'a part', part, expected: `${expected} that is at most ${DEEPEST} deep` };
    depth++;
    try {
      return kind()(part, path, homes);
    } finally {
      depth--;
    }
  };
}

const anExpression: Kind = nested(
  () =>
    aVariant('an expression, as column(name) makes it', {
      column: { name: aText },
      literal: { value: aLiteral },
      add: { left: anExpression, right: anExpression },
      sub: { left: anExpression, right: anExpression },
      mul: { left: anExpression, right: anExpression },
      neg: { of: anExpression },
    }),
  'an expression',
);

/** Validator of an expression or a literal. */
export const anOperand: Kind = (part, path, homes) =>
  'kind' in fields(part) ? anExpression(part, path, homes) : aLiteral(part, path, homes);

const OPERATORS = ['<', '<=', '>', '>=', '=', '<>'];

export const aCondition: Kind = nested(
  () =>
    aVariant('a condition, as lessThan(column(name), 3) makes it', {
      compare: { operator: aWord(OPERATORS), left: anExpression, right: anExpression },
      isNull: { of: anExpression },
      truth: { of: anExpression },
      between: { of: anExpression, low: anExpression, high: anExpression },
      in: { of: anExpression, values: manyOf(aLiteral) },
      always: {},
      never: {},
      inPolygons: { x: aText, y: aText, tree: aMaqTree },
      and: { of: anArrayOf(aCondition) },
      or: { of: anArrayOf(aCondition) },
      not: { of: aCondition },
    }),
  'a condition',
);

/**
 * Validators of the values of host columns, by column type. Columns of strings have codes instead of values, and are
 * checked separately.
 */
export const hostValues: Readonly<Record<Exclude<ColumnKind, 'string'>, Kind>> = {
  u32: anInstance(Uint32Array, Uint16Array, Uint8Array),
  i32: anInstance(Int32Array, Int16Array, Int8Array),
  f32: anInstance(Float32Array),
  u64: anInstance(BigUint64Array),
  i64: anInstance(BigInt64Array),
  f64: anInstance(Float64Array),
  bool: anInstance(Uint8Array),
  date: anInstance(Int32Array),
  decimal: anInstance(BigInt64Array, Int32Array),
};
const validity = optional(anInstance(Uint32Array));

export const aHostColumn: Kind = (part, path, homes) => {
  const { type } = fields(part);
  if (type === 'string') {
    return aRecord({ codes: anInstance(Uint32Array), dictionary: manyOf(aText), validity })(part, path, homes);
  }
  if (typeof type !== 'string' || !Object.hasOwn(hostValues, type)) {
    if ('type' in fields(part))
      return { path: `${path}.type`, part: type, expected: `string, ${Object.keys(hostValues).join(', ')}` };
    return { path, part, expected: '{ type, values }' };
  }
  const scale = type === 'decimal' ? aWhole(0, 38) : anything;
  return aRecord({ values: hostValues[type as keyof typeof hostValues], validity, scale })(part, path, homes);
};

/** Validator of a record in which every field is of the given kind. */
export function aRecordOf(kind: Kind, expected: string): Kind {
  return (part, path, homes) => {
    if (!isRecord(part) || !isPlain(part)) return { path, part, expected };
    for (const [name, each] of Object.entries(part)) {
      const flaw = kind(each, `${path}.${name}`, homes);
      if (flaw !== undefined) return flaw;
    }
    return undefined;
  };
}

export const aHostTable: Kind = aRecordOf(aHostColumn, 'a record of columns { type, values }');

const aStoredColumn: Kind = aRecord({
  name: aText,
  words: anArrayOf(aColumn('u32', 'i32')),
  validity: optional(aColumn('u32')),
});
const aTableColumn: Kind = (part, path, homes) => aStoredColumn(storedOf(part as object), path, homes);

export const aTable: Kind = aRecord({
  context: aContext,
  rows: aWhole(),
  columns: aRecordOf(aTableColumn, 'columns, as createTable makes them'),
});

export const aSelection: Kind = aRecord({ table: aTable, words: aColumn('u32') });

export const aWhere: Kind = (part, path, homes: Homes) =>
  'words' in fields(part) ? aSelection(part, path, homes) : aCondition(part, path, homes);

export const whereOptions: Kind = someOptions({ where: optional(aWhere) });

const of = { of: anExpression };
const groupKinds = {
  ...{ count: { of: optional(anExpression) }, sum: of, avg: of, min: of, max: of, median: of },
  quantile: { of: anExpression, fraction: aNumber },
  quantileCont: { of: anExpression, fraction: aNumber },
  smallest: { of: anExpression, k: aNumber },
  largest: { of: anExpression, k: aNumber },
};

export const aggregatesOfGroups: Kind = aRecordOf(
  aVariant('an aggregate { kind, of }', groupKinds),
  'a record of aggregates',
);

export const someAggregates: Kind = aRecordOf(
  aVariant('an aggregate { kind, of }', {
    ...groupKinds,
    ...{ variance: of, countDistinct: of },
  }),
  'a record of aggregates',
);

export const someNames: Kind = anArrayOf(aText, 'an array of names of columns');
