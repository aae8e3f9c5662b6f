import { readFile } from 'node:fs/promises';
import { tableFromIPC } from '@uwdata/flechette';
import fc from 'fast-check';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { exitCodeOf } from '../../cli/failure.ts';
import { Interrupted } from '../../cli/interrupt.ts';
import { type TableField, writeTable } from '../../formats/index.ts';
import { QuadrilleError } from '../../primitives/checks/errors.ts';
import { Context } from '../../primitives/context/context.ts';
import { caseCount } from '../cases.ts';
import { openWorkshop, type Workshop } from '../support/cli-support.ts';
import { fileOf, newPath } from '../support/table-files-support.ts';
import { tableAnswer } from './table-command-support.ts';

const RIDES = `zone,fare,hour,card,day,at,tip
a,12.5,8,true,2020-01-31,2020-01-31 10:00:00.25,3
b,9.25,7,false,2020-02-01,2020-02-01 10:00:00,
a,,12,true,,,5
`;

let [shop, context, rides] = [undefined as unknown as Workshop, undefined as unknown as Context, ''];
beforeAll(async () => {
  shop = await openWorkshop();
  context = new Context(createReferenceBackend());
  await shop.write('rides.csv', RIDES);
  rides = shop.path('rides.csv');
});
afterAll(async () => {
  await context.close();
  await shop.remove();
});

const answer = async (path: string, ...words: string[]): Promise<string> =>
  (await tableAnswer(context, [path, ...words])).stdout.toString();
const refusal = async (path: string, ...words: string[]): Promise<QuadrilleError> => {
  const error = await tableAnswer(context, [path, ...words]).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(QuadrilleError);
  return error as QuadrilleError;
};

describe('an expression that does not parse', () => {
  test.each([
    ['--where', 'fare > 10 and', 'Something is missing at the end.', 13],
    ['--where', 'fare >> 10', 'A value is missing here.', 6],
    ['--where', 'faer > 10', 'There is no column "faer".', 0],
    ['--where', "zone = 'a", 'This quote is not closed.', 7],
    ['--group-by', 'zone, huor', 'There is no column "huor".', 6],
    ['--aggregate', 'count, medain(fare)', 'This is not an aggregate.', 7],
    ['--columns', 'zone, zone', 'The column "zone" is named twice.', 6],
  ])('in %s has a caret below the position: %s', async (option, text, sentence, at) => {
    const { exitCode, stdout, stderr } = await shop.quadrille(['table', '@rides.csv', option, text]);
    expect([exitCode, stdout]).toEqual([2, '']);
    const lines = stderr.split('\n');
    expect(lines.slice(0, 3)).toEqual([`quadrille: ${option}: ${sentence}`, `  ${text}`, `  ${' '.repeat(at)}^`]);
  });

  test('suggests the nearest column', async () => {
    const { stderr } = await shop.quadrille(['table', '@rides.csv', '--where', 'faer > 10']);
    expect(stderr).toContain('Did you mean fare?');
    expect((await refusal(rides, '--order-by', 'faer', '--limit', '1')).message).toContain('Did you mean fare?');
  });

  test('is refused or evaluated, never a crash', async () => {
    const piece = fc.constantFrom(
      'fare',
      'zone',
      'nope',
      '(',
      ')',
      ',',
      ' and ',
      ' not ',
      '>',
      "'a'",
      "'",
      '"',
      '1',
      '-',
      '*',
      ' in ',
      ' is null',
      '\n',
      '\u{1f600}',
      'count',
      'median',
      ' as ',
    );
    const option = fc.constantFrom('--where', '--aggregate', '--group-by', '--columns', '--order-by');
    await fc.assert(
      fc.asyncProperty(option, fc.array(piece, { minLength: 1, maxLength: 9 }), async (name, pieces) => {
        const words = [rides, `${name}=${pieces.join('')}`, ...(name === '--order-by' ? ['--limit', '1'] : [])];
        const error = await tableAnswer(context, words).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        if (error !== undefined)
          expect([words, error, exitCodeOf(error)]).toEqual([words, expect.any(QuadrilleError), 2]);
      }),
      { numRuns: caseCount(400) },
    );
  });
});

describe('queries that the column types do not allow are refused', () => {
  test.each([
    [['--where', 'zone > 3'], 'tables/type', '--where: '],
    [['--where', "'fare' > 3"], 'tables/type', 'not the name of a column'],
    [['--where', 'zone + fare > 3'], 'tables/type', "'zone', a column of string"],
    [['--where', 'at > 5'], 'table/time', '"at", a column of times in us'],
    [['--where', "at > '2020-13-01'"], 'table/time', "'2020-13-01' is not a time"],
    [['--where', "at > '2020-12-01T00:00Z'"], 'table/time', 'has a UTC offset'],
    [['--where', 'at = day'], 'table/time', 'cannot be compared with'],
    [['--aggregate', 'avg(zone)'], 'tables/type', "There is no avg of 'zone', a column of string"],
    [['--aggregate', 'sum(at)'], 'tables/type', 'a column of times'],
    [['--aggregate', 'max(at + 1)'], 'table/time', 'which cannot be added'],
    [['--aggregate', 'sum(3)'], 'tables/type', 'A constant has no value per row'],
    [
      [
        '--aggregate',
        'sum(hour*hour*hour*hour*hour*hour*hour*hour*hour*hour*hour*hour*hour*hour*hour*hour*hour*hour*hour*hour)',
      ],
      'tables/overflow',
      'may not fit in 64 bits',
    ],
    [
      ['--group-by', 'zone', '--aggregate', 'count as zone'],
      'usage/repeated-column',
      'the name of a column of --group-by',
    ],
    [['--group-by', 'zone,fare,hour,card,day'], 'usage/group-by', 'at most 4 columns'],
    [['--order-by', 'fare'], 'usage/contradiction', 'needs --limit'],
    [['--columns', 'zone', '--aggregate', 'count'], 'usage/contradiction', '--columns has no effect'],
    [['--plot', '-', '--aggregate', 'count'], 'plot/no-numbers', 'Without groups'],
    [['--plot', '-', '--columns', 'zone'], 'plot/no-numbers', 'no column of numbers'],
    [['--out', 'rides.xlsx'], 'usage/format', '.xlsx'],
    [['--json', '--plot', '-'], 'usage/stdout-twice', 'cannot both write to stdout'],
  ])('%j', async (words, code, sentence) => {
    const error = await refusal(rides, ...words);
    expect([error.code, error.message]).toEqual([code, expect.stringContaining(sentence)]);
    expect(exitCodeOf(error)).toBe(2);
  });

  test.each(['s', 'ms', 'us', 'ns'] as const)('arithmetic with times and times of day in %s', async (unit) => {
    const fields: TableField[] = [
      { name: 'at', type: 'timestamp', unit, utc: false, nullable: false },
      { name: 'clock', type: 'time', unit, nullable: false },
    ];
    const column = { type: 'i64', values: BigInt64Array.of(1n, 3n) } as const;
    const path = newPath('.arrow');
    await writeTable(path, fields, [{ rows: 2, columns: { at: column, clock: column } }]);
    for (const { name } of fields) {
      for (const asked of ['sum(x)', 'avg(x)', 'variance(x)', 'quantile_cont(x, 0.5)']) {
        const { code, message } = await refusal(path, '--aggregate', asked.replace('x', name));
        expect([code, message]).toEqual(['tables/type', expect.stringContaining(`"${name}", a column of times`)]);
      }
    }
  });

  test('standard input, and an output over the input file', async () => {
    expect((await refusal('-')).code).toBe('usage/stdin');
    expect((await refusal(rides, '--out', rides)).code).toBe('usage/overwrites-input');
  });
});

describe('times', () => {
  test('are compared in all their written forms', async () => {
    const count = async (where: string): Promise<string> =>
      (await answer(rides, '--where', where, '--aggregate', 'count')).split('\n')[1]!;
    expect(await count("at >= '2020-01-31T10:00:00.25'")).toBe('2');
    expect(await count("at > '2020-01-31 10:00:00.25'")).toBe('1');
    expect(await count("at between '2020-01-31' and '2020-02-01' and day = '2020-01-31'")).toBe('1');
    expect(await count("not (at in ('2020-02-01 10:00', null))")).toBe('0');
    expect(await count("at in ('2020-02-01 10:00', null)")).toBe('1');
  });

  test('have extrema and medians', async () => {
    expect(await answer(rides, '--aggregate', 'min(at), max(day), median(at)')).toBe(
      'min(at),max(day),median(at)\n2020-01-31T10:00:00.25,2020-02-01,2020-01-31T10:00:00.25\n',
    );
  });
});

describe('tables without', () => {
  test('rows give headers, counts of 0 and nulls', async () => {
    const empty = await fileOf('zone,fare\n', '.csv');
    expect(await answer(empty)).toBe('zone,fare\n');
    expect(await answer(empty, '--group-by', 'zone', '--aggregate', 'count, median(fare)')).toBe(
      'zone,count,median(fare)\n',
    );
    expect(await answer(empty, '--aggregate', 'count, min(fare), count(distinct zone), median(zone)')).toBe(
      'count,min(fare),count(distinct zone),median(zone)\n0,,0,\n',
    );
    expect(await answer(empty, '--order-by', 'fare', '--limit', '3', '--format', 'json')).toBe('[\n]\n');
  });

  test('row groups are tables without rows', async () => {
    const columnData = [{ name: 'x', type: 'DOUBLE' as const, data: [] as number[] }];
    const path = await fileOf(new Uint8Array(parquetWriteBuffer({ columnData })), '.parquet');
    expect(await answer(path, '--aggregate', 'count, sum(x), variance(x)')).toBe('count,sum(x),variance(x)\n0,,\n');
  });

  test('any non-null value in a column give nulls', async () => {
    const path = newPath('.arrow');
    const validity = new Uint32Array(1);
    const columns = {
      x: { type: 'i32', values: new Int32Array(3), validity },
      s: { type: 'string', codes: new Uint32Array(3), dictionary: [], validity },
      f: { type: 'f64', values: new Float64Array(3), validity },
    } as const;
    const fields = [
      { name: 'x', type: 'i32', nullable: true },
      { name: 's', type: 'string', nullable: true },
      { name: 'f', type: 'f64', nullable: true },
    ] as const;
    await writeTable(path, fields, [{ rows: 3, columns }]);
    const all = 'count, count(x), sum(x), avg(f), max(s), median(x), variance(f), quantile(f, 0.5)';
    expect((await answer(path, '--aggregate', all)).split('\n')[1]).toBe('3,0,,,,,,');
    expect((await answer(path, '--group-by', 's,x', '--aggregate', all)).split('\n')[1]).toBe(',,3,0,,,,,,');
    expect(await answer(path, '--where', "x > 0 or s < 'a' or not f = 1")).toBe('x,s,f\n');
  });

  test('distinct names, or bytes, are refused', async () => {
    expect((await refusal(await fileOf('a,a\n1,2\n', '.csv'))).code).toBe('format/repeated-column');
    expect((await refusal(await fileOf('', '.csv'))).code).toBe('format/not-table');
    expect((await refusal(shop.path('none.csv'))).code).toMatch(/^format\//);
  });
});

describe('floats', () => {
  test('are summed in the order of the file, with compensation', async () => {
    // Real numbers that are multiples of 2^-60. Every f64 of at least 1/128 is such a multiple.
    const real = fc
      .oneof(fc.double({ noNaN: true, min: 2 ** -7, max: 1e15 }), fc.constantFrom(1e15, 0.1, 0))
      .chain((size) => fc.constantFrom(size, -size));
    await fc.assert(
      fc.asyncProperty(
        fc.array(real, { minLength: 2, maxLength: 60 }),
        fc.constantFrom(1, 7, 100),
        async (values, rowsPerBatch) => {
          const path = newPath('.arrow');
          const column = { type: 'f64', values: Float64Array.from(values) } as const;
          await writeTable(
            path,
            [{ name: 'x', type: 'f64', nullable: false }],
            [{ rows: values.length, columns: { x: column } }],
          );
          const { stdout } = await tableAnswer(context, [path, '--aggregate', 'sum(x), variance(x)'], { rowsPerBatch });
          const [sum, variance] = stdout.toString().split('\n')[1]!.split(',').map(Number);
          const size = values.reduce((all, each) => all + Math.abs(each), 0);
          expect(Math.abs(sum! - exactSum(values))).toBeLessThanOrEqual(
            2 ** -52 * Math.abs(exactSum(values)) + 2 ** -96 * size,
          );
          const mean = exactSum(values) / values.length;
          const plain = values.reduce((all, each) => all + (each - mean) ** 2, 0) / (values.length - 1);
          expect(Math.abs(variance! - plain)).toBeLessThanOrEqual(
            1e-9 * Math.max(plain, (size / values.length) ** 2 * 1e-6),
          );
        },
      ),
      { numRuns: caseCount(60) },
    );
  });

  test('that are NaN sort last, and infinite sums are infinite', async () => {
    const path = await fileOf('x\nNaN\n1.5\n-inf\n', '.csv');
    expect((await answer(path, '--aggregate', 'min(x), max(x), median(x), sum(x)')).split('\n')[1]).toBe(
      '-Infinity,NaN,1.5,NaN',
    );
    const infinite = await fileOf('x\ninf\n1.5\n', '.csv');
    expect((await answer(infinite, '--aggregate', 'sum(x), avg(x)')).split('\n')[1]).toBe('Infinity,Infinity');
  });
});

/** The exact sum of multiples of 2^-60, rounded once to f64. */
function exactSum(values: readonly number[]): number {
  return Number(values.reduce((sum, value) => sum + BigInt(value * 2 ** 60), 0n)) / 2 ** 60;
}

describe('a run', () => {
  test('writes the same table as CSV, JSON and Arrow, figures and a trace', async () => {
    const words = ['--group-by', 'zone', '--aggregate', 'count, median(fare), max(at)'];
    const csv = await answer(rides, ...words);
    expect(csv).toBe(
      'zone,count,median(fare),max(at)\na,2,12.5,2020-01-31T10:00:00.25\nb,1,9.25,2020-02-01T10:00:00\n',
    );
    const json = JSON.parse(await answer(rides, ...words, '--format', 'json')) as object[];
    expect(json.map((row) => Object.values(row).join())).toEqual(csv.trimEnd().split('\n').slice(1));
    const [arrow, trace] = [shop.path('zones.arrow'), shop.path('trace.json')];
    const { stdout, log } = await tableAnswer(context, [rides, ...words, '--out', arrow, '--trace', trace, '--json']);
    const table = tableFromIPC(await readFile(arrow));
    expect(table.toArray().map((row) => [row.zone, Number(row.count), row['median(fare)']])).toEqual([
      ['a', 2, 12.5],
      ['b', 1, 9.25],
    ]);
    expect(JSON.parse(stdout.toString())).toMatchObject({ format: 'csv', rows: 3, written: 2, grouped: true });
    expect(JSON.stringify(JSON.parse(await readFile(trace, 'utf8')))).toContain('put together');
    expect(log.at(-1)).toMatchObject({ event: 'result', rows: 3, written: 2, outputs: [arrow, trace] });
    expect(log.find(({ event }) => event === 'progress')).toMatchObject({ totalRows: 3 });
  });

  test('plots groups and rows, the same for any batch size', async () => {
    const draw = async (rowsPerBatch: number, ...words: string[]): Promise<string> =>
      (await tableAnswer(context, [rides, ...words, '--plot', '-'], { rowsPerBatch })).stdout.toString();
    const bars = await draw(3, '--group-by', 'zone', '--aggregate', 'max(fare)');
    expect(bars).toContain('max(fare) by zone: 2 groups');
    expect(await draw(1, '--group-by', 'zone', '--aggregate', 'max(fare)')).toBe(bars);
    const histogram = await draw(3, '--columns', 'zone,fare');
    expect(histogram).toContain('fare: 2 numbers, 1 without a number left out');
    expect(await draw(1, '--columns', 'zone,fare')).toBe(histogram);
  });

  test('orders groups by an aggregate', async () => {
    const words = [
      '--group-by',
      'zone',
      '--aggregate',
      'count, avg(fare)',
      '--order-by',
      'avg(fare) desc',
      '--limit',
      '1',
    ];
    expect(await answer(rides, ...words)).toBe('zone,count,avg(fare)\na,2,12.5\n');
    const ascending = ['--group-by', 'zone', '--aggregate', 'count as n', '--order-by', 'n'];
    expect(await answer(rides, ...ascending)).toBe('zone,n\nb,1\na,2\n');
  });

  test('that is interrupted reports that, and leaves no file', async () => {
    const stop = new AbortController();
    const out = shop.path('never.csv');
    const onPart = (part: number): void => {
      if (part === 1) stop.abort(new Interrupted('SIGINT'));
    };
    const run = (...words: string[]) =>
      tableAnswer(context, [rides, ...words], { rowsPerBatch: 1, signal: stop.signal, onPart });
    await expect(run('--group-by', 'zone', '--out', out)).rejects.toThrow('Stopped by SIGINT; nothing was written.');
    await expect(readFile(out)).rejects.toThrow('ENOENT');
  });

  test('that would exceed the memory reports what it needs', async () => {
    const path = await fileOf(`x\n${Array.from({ length: 5000 }, (_, i) => i).join('\n')}\n`, '.csv');
    const error = await refusal(path, '--aggregate', 'median(x)', '--memory', '100kB');
    expect([error.code, error.message]).toEqual(['memory/limit', expect.stringContaining('distinct values')]);
    expect(await answer(path, '--aggregate', 'median(x)', '--memory', '10MB')).toBe('median(x)\n2499.5\n');
    const said = await shop.quadrille(['table', path, '--group-by', 'x', '--memory', '100kB']);
    expect([said.exitCode, said.stdout, said.stderr]).toEqual([
      1,
      '',
      expect.stringMatching(/for [0-9]+,[0-9]+ groups\./),
    ]);
  });

  test('reports the number of groups when only some are written', async () => {
    const summary = async (...words: string[]): Promise<string> =>
      (await shop.quadrille(['table', '@rides.csv', '--group-by', 'zone', ...words])).stderr;
    expect(await summary('--limit', '1')).toContain('rides.csv, 1 of 2 groups, ');
    expect(await summary()).toContain('rides.csv, 2 groups, ');
    const { stdout } = await tableAnswer(context, [rides, '--group-by', 'zone', '--limit', '1', '--json']);
    expect(JSON.parse(stdout.toString())).toMatchObject({ written: 1, groups: 2 });
  });
});
