import { parseArgs } from 'node:util';
import fc from 'fast-check';
import * as t from '../algorithms/tables/index.ts';
import { optionalPackage } from '../bench/peers/optional.ts';
import { open } from '../on-node.ts';
import { type Cell, type SampleTable, sampleCondition, sampleTable } from './support/table-questions.ts';

/**
 * Compares this library with DuckDB: both must select the same rows, for random conditions and random tables with
 * nulls. If types differ, the DuckDB query has explicit casts. The program stops at the first difference.
 *
 * It needs DuckDB: npm install --no-save @duckdb/node-api@1.5.6-r.1.
 *
 * node --import tsx property-tests/compare-with-duckdb.ts [--conditions 10500] [--backend workers|webgpu|reference]
 *   [--seed 1]
 */
const { values: options } = parseArgs({
  options: {
    conditions: { type: 'string', default: '10500' },
    backend: { type: 'string', default: 'workers' },
    seed: { type: 'string', default: '1' },
  },
});

interface Library {
  readonly DuckDBInstance: {
    create(path: string): Promise<{
      connect(): Promise<{
        run(sql: string): Promise<unknown>;
        runAndReadAll(sql: string): Promise<{ getRowsJson(): readonly (readonly unknown[])[] }>;
      }>;
    }>;
  };
}

const TYPES: Readonly<Record<string, string>> = {
  ...{ u: 'UINTEGER', v: 'UINTEGER', i: 'INTEGER', j: 'INTEGER', f: 'FLOAT', g: 'FLOAT', l: 'BIGINT', m: 'UBIGINT' },
  ...{ n: 'DOUBLE', d: 'DECIMAL(18, 2)', b: 'BOOLEAN', t: 'DATE', s: 'VARCHAR' },
};
/** The SQL type in which integers, decimals and finite real literals are compared. */
const EXACT = 'DECIMAL(38, 2)';
const INTEGERS = 'uvijlmd';

function cellText(name: string, cell: Cell): string {
  if (cell === null) return 'NULL';
  if (typeof cell === 'string') return `'${cell}'`;
  if (name === 't') return `(DATE '1970-01-01' + ${cell}::INTEGER)`;
  if (name === 'd') return `(${cell}::DECIMAL(18, 0) / 100)::DECIMAL(18, 2)`;
  if (typeof cell === 'number') return `'${numberText(cell)}'::${TYPES[name]}`;
  return `${cell}`;
}

/** A number as SQL text. −0 becomes 0, which compares equal. */
function numberText(value: number): string {
  return Number.isNaN(value) ? 'nan' : Number.isFinite(value) ? `${value}` : value > 0 ? 'inf' : '-inf';
}

function literalText(value: t.LiteralValue, beside: t.Expression): string {
  if (value === null) return 'NULL';
  if (typeof value === 'boolean') return `${value}`;
  const name = beside.kind === 'column' ? beside.name : '';
  if (typeof value === 'string') return name === 't' ? `DATE '${value}'` : `'${value}'`;
  if (name === 't') return `(DATE '1970-01-01' + ${value}::INTEGER)`;
  if (typeof value === 'number' && 'fgn'.includes(name) && name !== '') return `'${numberText(value)}'::${TYPES[name]}`;
  if (typeof value === 'number' && !Number.isFinite(value)) return `'${numberText(value)}'::DOUBLE`;
  return `${BigInt(Math.round(Number(value) * 100)) === 0n || Math.abs(Number(value)) < 1e6 ? value : BigInt(value as number)}::${EXACT}`;
}

function expressionText(expression: t.Expression, beside: t.Expression): string {
  switch (expression.kind) {
    case 'column': {
      const { name } = expression;
      if (!INTEGERS.includes(name)) return name;
      const isReal = beside.kind === 'literal' && typeof beside.value === 'number' && !Number.isFinite(beside.value);
      return `${name}::${isReal ? 'DOUBLE' : EXACT}`;
    }
    case 'literal':
      return literalText(expression.value as t.LiteralValue, beside);
    case 'neg':
      return `-(${expressionText(expression.of, beside)})`;
    case 'mul':
      // In the random conditions, every product has a column on the left and a literal on the right.
      return `(${expressionText(expression.left, beside)} * ${(expression.right as { value: number }).value})`;
    default: {
      const sign = expression.kind === 'add' ? '+' : '-';
      return `(${expressionText(expression.left, beside)} ${sign} ${expressionText(expression.right, beside)})`;
    }
  }
}

function compareText(operator: string, left: t.Expression, right: t.Expression): string {
  return `(${expressionText(left, right)} ${operator} ${expressionText(right, left)})`;
}

function conditionText(condition: t.Condition): string {
  switch (condition.kind) {
    case 'always':
      return 'true';
    case 'never':
      return 'false';
    case 'not':
      return `(not ${conditionText(condition.of)})`;
    case 'and':
    case 'or': {
      const neutral = condition.kind === 'and' ? 'true' : 'false';
      return `(${[neutral, ...condition.of.map(conditionText)].join(` ${condition.kind} `)})`;
    }
    case 'isNull':
      return `(${expressionText(condition.of, condition.of)} is null)`;
    case 'truth':
      return expressionText(condition.of, condition.of);
    case 'between': {
      const { of, low, high } = condition;
      return `(${compareText('>=', of, low)} and ${compareText('<=', of, high)})`;
    }
    case 'in': {
      const each = condition.values.map((value) => compareText('=', condition.of, { kind: 'literal', value }));
      return `(${['false', ...each].join(' or ')})`;
    }
    case 'compare':
      return compareText(condition.operator, condition.left, condition.right);
    case 'inPolygons':
      throw new RangeError('DuckDB is not asked about polygons');
  }
}

function tableText(rows: SampleTable['rows']): string {
  const names = Object.keys(TYPES);
  const casts = names.map((name) => `${name}::${TYPES[name]} as ${name}`).join(', ');
  const values = rows
    .map((row, i) => `(${i}, ${names.map((name) => cellText(name, row[name]!)).join(', ')})`)
    .join(', ');
  return `create or replace table t as select id, ${casts} from (values ${values}) as given(id, ${names.join(', ')})`;
}

const found = await optionalPackage<Library>('@duckdb/node-api');
if (found === undefined) throw new Error('DuckDB is not installed: npm install --no-save @duckdb/node-api@1.5.6-r.1');
const connection = await (await found.library.DuckDBInstance.create(':memory:')).connect();
const context = await open({ backend: options.backend as 'workers' });
const wanted = Number(options.conditions);
const PER_TABLE = 25;
const samples = fc.sample(
  fc.tuple(sampleTable, fc.array(sampleCondition, { minLength: PER_TABLE, maxLength: PER_TABLE, size: 'max' })),
  {
    numRuns: Math.ceil(wanted / PER_TABLE),
    seed: Number(options.seed),
  },
);
let [asked, rowsAsked] = [0, 0];
for (const [{ host, rows }, conditions] of samples) {
  if (rows.length === 0) continue;
  await connection.run(tableText(rows));
  const table = t.createTable(context, host);
  const texts = conditions.map((each, i) => `coalesce(${conditionText(each)}, false) as c${i}`);
  const result = (await connection.runAndReadAll(`select ${texts.join(', ')} from t order by id`)).getRowsJson();
  for (const [k, condition] of conditions.entries()) {
    const selection = t.selectRows(table, condition);
    const ids = t.selectedIds(selection);
    const ours = [...(await context.read(ids))].join();
    context.dispose(ids, selection.words);
    const theirs = [...rows.keys()].filter((i) => result[i]![k] === true).join();
    asked++;
    rowsAsked += rows.length;
    if (ours !== theirs) throw new Error(`Differs: ${conditionText(condition)}\nours ${ours}\nDuckDB ${theirs}`);
  }
  t.disposeTable(table);
}
console.log(`${asked} conditions over ${samples.length} tables, ${rowsAsked} answers: all as DuckDB's`);
await context.close();
