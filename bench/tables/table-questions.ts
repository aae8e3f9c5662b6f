import * as t from '../../algorithms/tables/index.ts';

/** A query over a table, in this library's API and in SQL. */
export interface Question {
  readonly name: string;
  readonly sql: string;
  readonly table: 'numbers' | 'lineitem';
  /**
   * The aggregates and the condition, if the query is a plain aggregation. The device's clock can time only plain
   * aggregations and the query named 'ids of a tenth'.
   */
  readonly asked?: { readonly aggregates: t.Aggregates; readonly where?: t.Condition };
  ask(table: t.DeviceTable): Promise<unknown>;
}

const { column: c, lessThan, greaterThan, atLeast, equalTo, and, or } = t;
const count = { n: { kind: 'count' } } as const;

function counting(name: string, sql: string, where: t.Condition): Question {
  const ask = (table: t.DeviceTable) => t.aggregate(table, count, { where });
  const asked = { aggregates: count, where };
  return { name, table: 'numbers', sql: `select count(*) from numbers where ${sql}`, asked, ask };
}

/**
 * Three queries that count rows by a condition. `suffix` ends the names of the columns: `''` for the columns without
 * nulls, `'n'` for the columns with nulls.
 */
function predicates(suffix: string): Question[] {
  const [a, b, x, d] = ['a', 'b', 'c', 'd'].map((name) => `${name}${suffix}`) as [string, string, string, string];
  const nulls = suffix === '' ? '' : ', nulls';
  return [
    counting(`count where a < c${nulls}`, `${a} < 300000`, lessThan(c(a), 300_000)),
    counting(
      `normal form over 4 columns${nulls}`,
      `(${a} < 300000 or ${b} > 500000) and (${x} < 200000 or ${d} >= 100) and (${a} > ${d} or ${b} = 77)`,
      and(
        or(lessThan(c(a), 300_000), greaterThan(c(b), 500_000)),
        or(lessThan(c(x), 200_000), atLeast(c(d), 100)),
        or(greaterThan(c(a), c(d)), equalTo(c(b), 77)),
      ),
    ),
    counting(
      `semi-linear over 4 columns${nulls}`,
      `2::bigint * ${a} + 3::bigint * ${b} - ${x} + 5::bigint * ${d} < 3000000`,
      lessThan(t.linear({ [a]: 2, [b]: 3, [x]: -1, [d]: 5 }), 3_000_000),
    ),
  ];
}

function five(name: string): Question {
  const of = c(name);
  const aggregates = {
    ...count,
    sum: { kind: 'sum', of },
    avg: { kind: 'avg', of },
    min: { kind: 'min', of },
    max: { kind: 'max', of },
  } as const;
  const sql = `select count(*), sum(${name}), avg(${name}), min(${name}), max(${name}) from numbers`;
  const ask = (table: t.DeviceTable) => t.aggregate(table, aggregates);
  return { name: `sum, avg, min, max, count of ${name}`, table: 'numbers', sql, asked: { aggregates }, ask };
}

function median(name: string, where?: t.Condition): Question {
  const aggregates = { median: { kind: 'median', of: c(name) } } as const;
  const condition = where === undefined ? {} : { where };
  const ending = where === undefined ? '' : ' where b < c';
  return {
    name: `median of ${name}${ending}`,
    table: 'numbers',
    sql: `select median(${name}) from numbers${ending}`,
    asked: { aggregates, ...condition },
    ask: (table) => t.aggregate(table, aggregates, condition),
  };
}

function groups(key: string, of: string): Question {
  const aggregates = { ...count, sum: { kind: 'sum', of: c(of) }, avg: { kind: 'avg', of: c(of) } } as const;
  return {
    name: `group by ${key}: count, sum, avg of ${of}`,
    table: 'numbers',
    sql: `select ${key}, count(*), sum(${of}), avg(${of}) from numbers group by ${key}`,
    ask: (table) => t.groupBy(table, [key], aggregates),
  };
}

const one = t.literal(1);
const discounted = t.multiplied(c('l_extendedprice'), t.subtracted(one, c('l_discount')));

/** Queries 1 and 6 of TPC-H, without the parts that need several tables. */
const tpch: readonly Question[] = [
  {
    name: 'TPC-H Q1',
    table: 'lineitem',
    sql: `select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
      sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
      from lineitem where l_shipdate <= date '1998-09-02' group by l_returnflag, l_linestatus
      order by l_returnflag, l_linestatus`,
    ask: (table) =>
      t.groupBy(
        table,
        ['l_returnflag', 'l_linestatus'],
        {
          sum_qty: { kind: 'sum', of: c('l_quantity') },
          sum_base_price: { kind: 'sum', of: c('l_extendedprice') },
          sum_disc_price: { kind: 'sum', of: discounted },
          sum_charge: { kind: 'sum', of: t.multiplied(discounted, t.added(one, c('l_tax'))) },
          avg_qty: { kind: 'avg', of: c('l_quantity') },
          avg_price: { kind: 'avg', of: c('l_extendedprice') },
          avg_disc: { kind: 'avg', of: c('l_discount') },
          count_order: { kind: 'count' },
        },
        { where: t.atMost(c('l_shipdate'), '1998-09-02') },
      ),
  },
  {
    name: 'TPC-H Q6',
    table: 'lineitem',
    sql: `select sum(l_extendedprice * l_discount) from lineitem where l_shipdate >= date '1994-01-01'
      and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24`,
    ask: (table) =>
      t.aggregate(
        table,
        { revenue: { kind: 'sum', of: t.multiplied(c('l_extendedprice'), c('l_discount')) } },
        {
          where: and(
            atLeast(c('l_shipdate'), '1994-01-01'),
            lessThan(c('l_shipdate'), '1995-01-01'),
            t.between(c('l_discount'), 0.05, 0.07),
            lessThan(c('l_quantity'), 24),
          ),
        },
      ),
  },
];

/** A query that lists the row numbers of all rows with `a` below 100,000. The list stays on the device. */
const ids: Question = {
  name: 'ids of a tenth',
  table: 'numbers',
  sql: 'select id from numbers where a < 100000',
  async ask(table) {
    const { words } = t.selectRows(table, lessThan(c('a'), 100_000));
    const found = t.selectedIds({ table, words });
    await table.context.sync();
    table.context.dispose(words, found);
  },
};

export const questions: readonly Question[] = [
  ...predicates(''),
  five('a'),
  five('f'),
  median('a'),
  median('a', lessThan(c('b'), c('c'))),
  median('f'),
  ids,
  groups('k', 'a'),
  groups('m', 'a'),
  groups('k', 'f'),
  ...predicates('n'),
  ...tpch,
];
