import type { HostTable } from '../../algorithms/tables/index.ts';

/**
 * Number of days from 1970-01-01 to the first order date in TPC-H. Likewise, `LAST_ORDER` is the last order date and
 * `CURRENT` the current date of TPC-H.
 */
const FIRST_ORDER = 8035;
const LAST_ORDER = 10440;
const CURRENT = 9298;

/**
 * Rows like those of TPC-H's table lineitem. The columns for queries 1 and 6 have the distributions of the
 * specification (4.2.3); the random numbers differ from those of dbgen.
 */
export function lineitem(rows: number, random: () => number): HostTable {
  const whole = (from: number, to: number): number => from + Math.floor(random() * (to - from + 1));
  const money = (): Int32Array => new Int32Array(rows);
  const [quantity, price, discount, tax, shipped] = [money(), money(), money(), money(), new Int32Array(rows)];
  const [flags, statuses] = [new Uint32Array(rows), new Uint32Array(rows)];
  for (let i = 0; i < rows; i++) {
    const part = whole(1, 200_000);
    const units = whole(1, 50);
    quantity[i] = 100 * units;
    price[i] = units * (90_000 + (Math.floor(part / 10) % 20_001) + 100 * (part % 1000));
    discount[i] = whole(0, 10);
    tax[i] = whole(0, 8);
    shipped[i] = whole(FIRST_ORDER, LAST_ORDER) + whole(1, 121);
    const received = shipped[i]! + whole(1, 30);
    flags[i] = received <= CURRENT ? whole(0, 1) : 2;
    statuses[i] = Number(shipped[i]! > CURRENT);
  }
  const decimal = (values: Int32Array) => ({ type: 'decimal', scale: 2, values }) as const;
  return {
    l_quantity: decimal(quantity),
    l_extendedprice: decimal(price),
    l_discount: decimal(discount),
    l_tax: decimal(tax),
    l_shipdate: { type: 'date', values: shipped },
    l_returnflag: { type: 'string', codes: flags, dictionary: ['R', 'A', 'N'] },
    l_linestatus: { type: 'string', codes: statuses, dictionary: ['F', 'O'] },
  };
}
