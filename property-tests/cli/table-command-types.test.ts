import { writeFile } from 'node:fs/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tableChunks } from '../../formats/index.ts';
import { onEveryBackend } from '../backends.ts';
import { costlyCaseCount, THOROUGH } from '../cases.ts';
import {
  type Cell,
  cellsOf,
  fileOf,
  newPath,
  readPath,
  someColumns,
  tableOf,
  type Written,
} from '../support/table-files-support.ts';
import { tableAnswer } from './table-command-support.ts';

/**
 * Maps −0 to 0, because groups treat both zeros as one value. For NaNs, which groups also treat as one value, nothing
 * is needed: a `Map` does the same.
 */
const canonical = (cell: Cell): Cell => (Object.is(cell, -0) ? 0 : cell);

/** Compares cells: ascending, with NaN as the greatest number and nulls last. */
function order(a: Cell, b: Cell): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  const [x, y] = [a, b as number];
  return x < y ? -1 : Number(x > y);
}

/** The expected rows of a grouped query: key, count, number of distinct values, minimum, maximum, and lower median. */
function byHand(keys: readonly Cell[], values: readonly Cell[]): Cell[][] {
  const groups = new Map<Cell, Cell[]>();
  for (const [row, key] of keys.entries()) {
    groups.set(canonical(key), [...(groups.get(canonical(key)) ?? []), canonical(values[row]!)]);
  }
  const rows = [...groups].map(([key, some]): Cell[] => {
    const sorted = some.filter((cell) => cell !== null).sort(order);
    const middle = sorted[Math.max(0, Math.ceil(sorted.length / 2) - 1)];
    return [key, some.length, new Set(sorted).size, sorted[0] ?? null, sorted.at(-1) ?? null, middle ?? null];
  });
  return rows.sort(([a], [b]) => order(a!, b!));
}

async function arrowOf(columns: readonly Written[]): Promise<string> {
  const path = newPath('.arrow');
  const fields = columns.map(({ field }) => field);
  const chunks: Buffer[] = [];
  for await (const chunk of tableChunks('arrow', fields, [tableOf(columns)])) chunks.push(Buffer.from(chunk));
  await writeFile(path, Buffer.concat(chunks));
  return path;
}

onEveryBackend((opened, { name }) => {
  const thorough = name === 'reference' ? 160 : name === 'workers' ? 60 : 4;
  // Every table needs kernels of its own, so `npm test` tries only about a fortieth of the cases.
  const numRuns = costlyCaseCount(THOROUGH ? thorough : Math.ceil(thorough / 2));

  test('columns of every type work as keys and values, and keep their values', async () => {
    const law = fc.asyncProperty(someColumns(60), fc.constantFrom(undefined, 1, 7), async (columns, rowsPerBatch) => {
      const [key, value] = [columns[0]!, columns.at(-1)!];
      const path = await arrowOf(columns);
      const of = value.field.name;
      const asked = `count, count(distinct ${of}), min(${of}), max(${of}), quantile(${of}, 0.5)`;
      const out = newPath('.arrow');
      const words = [path, '--group-by', key.field.name, '--aggregate', asked, '--out', out, '--quiet'];
      await tableAnswer(opened().context, words, { rowsPerBatch });
      const { cells } = await readPath(out);
      const found = Object.values(cells);
      const rows = found[0]!.map((_, row) => found.map((column) => canonical(column[row]!)));
      const numbers = rows.map(([first, count, different, ...rest]) => [
        first,
        Number(count),
        Number(different),
        ...rest,
      ]);
      expect(numbers).toEqual(byHand(key.cells, value.cells));
    });
    await fc.assert(law, { numRuns });
  }, 120_000);

  test('rows of every type keep their values', async () => {
    const law = fc.asyncProperty(someColumns(60), fc.constantFrom(undefined, 1, 7), async (columns, rowsPerBatch) => {
      const out = newPath('.arrow');
      const words = [await arrowOf(columns), '--where', `${columns[0]!.field.name} is not null`, '--out', out];
      await tableAnswer(opened().context, words, { rowsPerBatch });
      const kept = columns[0]!.cells.map((cell) => cell !== null);
      const { cells } = await readPath(out);
      const { columns: written, rows } = tableOf(columns);
      for (const [column, found] of Object.entries(cells)) {
        expect(found).toEqual(cellsOf(written[column]!, rows).filter((_, row) => kept[row]));
      }
    });
    await fc.assert(law, { numRuns });
  }, 120_000);

  test('the largest unsigned integers are not read as negative', async () => {
    const path = await fileOf('a\n18446744073709551615\n18446744073709551614\n', '.csv');
    const answer = async (...words: string[]): Promise<string> =>
      (await tableAnswer(opened().context, [path, ...words, '--quiet'])).stdout.toString();
    expect(await answer('--aggregate', 'min(a), max(a)', '--where', 'a > 5')).toBe(
      'min(a),max(a)\n18446744073709551614,18446744073709551615\n',
    );
    expect(await answer('--where', 'a < 18446744073709551615')).toBe('a\n18446744073709551614\n');
  });

  test('arithmetic of f64 is that of IEEE 754, also beside integers and decimals', async () => {
    const path = await fileOf('a,b,x,y\n30,1,12.5,1e-200\n40,12,2.25,1e-150\n40,10,0.1,-0.5\n50,1,,0.5\n', '.csv');
    const answer = async (...words: string[]): Promise<string> =>
      (await tableAnswer(opened().context, [path, ...words, '--quiet'], { rowsPerBatch: 2 })).stdout.toString();
    expect(await answer('--where', '3 * a - 2 * b + x > 100', '--columns', 'a,x')).toBe('a,x\n30,12.5\n40,0.1\n');
    expect(await answer('--where', 'y * y > 0 and y * y < 1e-299', '--columns', 'y')).toBe('y\n1e-150\n');
    expect(await answer('--where', 'x > b', '--columns', 'x')).toBe('x\n12.5\n');
    expect(
      await answer('--aggregate', 'sum(a + x) as s, max(x * y) as m, median(0.5 * a - x) as d, min(-x) as n'),
    ).toBe(`s,m,d,n\n${30 + 12.5 + (40 + 2.25) + (40 + 0.1)},2.25e-150,17.75,-12.5\n`);
  });

  test('sums of 64 bits are exact and do not depend on batches', async () => {
    const edges = fc.constantFrom(2n ** 62n, -(2n ** 62n), 2n ** 63n - 1n, -(2n ** 63n), 0n, 2n ** 32n, -1n);
    const row = fc.tuple(
      fc.integer({ min: 0, max: 2 }),
      fc.oneof(edges, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
    );
    const law = fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 40 }),
      fc.boolean(),
      fc.constantFrom(1, 2, 7),
      async (rows, isUnsigned, rowsPerBatch) => {
        const values = rows.map(([key, x]) => [key, isUnsigned ? BigInt.asUintN(64, x) : x] as const);
        // The first row makes the column u64 or i64, whichever way the file is divided into batches.
        const path = await fileOf(
          `k,x\n9,${isUnsigned ? 2n ** 64n - 1n : -1n}\n${values.map((each) => each.join()).join('\n')}\n`,
          '.csv',
        );
        const ask = async (aggregates: string, parts: object): Promise<string> => {
          const words = [path, '--where', 'k < 9', '--group-by', 'k', '--aggregate', aggregates, '--quiet'];
          return (await tableAnswer(opened().context, words, parts)).stdout.toString();
        };
        const averages = await ask('avg(x), count', { rowsPerBatch });
        expect(averages).toBe(await ask('avg(x), count', {}));
        const sums = new Map<number, bigint>();
        for (const [key, x] of values) sums.set(key, (sums.get(key) ?? 0n) + x);
        const sorted = [...sums].sort(([a], [b]) => a - b);
        for (const [i, line] of averages.trim().split('\n').slice(1).entries()) {
          const [key, average, count] = line.split(',').map(Number);
          expect(key).toBe(sorted[i]![0]);
          expect(Math.abs(average! * count! - Number(sorted[i]![1]))).toBeLessThanOrEqual(
            Math.abs(average! * count!) * 2 ** -50,
          );
        }
        const fits = sorted.every(([, sum]) => sum === (isUnsigned ? BigInt.asUintN(64, sum) : BigInt.asIntN(64, sum)));
        const answer = ask('sum(x)', { rowsPerBatch });
        if (fits) expect(await answer).toBe(`k,sum(x)\n${sorted.map((each) => `${each.join()}\n`).join('')}`);
        else await expect(answer).rejects.toMatchObject({ code: 'tables/overflow' });
      },
    );
    await fc.assert(law, { numRuns });
  }, 120_000);

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'a column can be called %s, a member of every object',
    async (name) => {
      const path = await fileOf(`${name},b\n1,2\n3,4\n3,6\n`, '.csv');
      const answer = async (...words: string[]): Promise<string> =>
        (await tableAnswer(opened().context, [path, ...words, '--quiet'])).stdout.toString();
      expect(await answer('--where', `${name} > 1`, '--columns', 'b')).toBe('b\n4\n6\n');
      expect(await answer('--group-by', name, '--aggregate', 'sum(b)')).toBe(`${name},sum(b)\n1,2\n3,10\n`);
      expect(await answer('--aggregate', `max(${name}), median(${name})`)).toBe(`max(${name}),median(${name})\n3,3\n`);
      expect(await answer('--order-by', name, '--limit', '1')).toBe(`${name},b\n1,2\n`);
    },
  );
});
