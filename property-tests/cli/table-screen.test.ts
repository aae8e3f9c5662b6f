import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test as plainTest } from 'vitest';
import { main } from '../../cli/main.ts';
import type { TableField } from '../../formats/tables/table-file.ts';
import { screenRows } from '../../formats/tables/write/text-writers.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { openWorkshop, type Workshop } from '../support/cli-support.ts';
import { FORMATS, rideFile, someRides } from './table-command-support.ts';

let shop: Workshop;
beforeAll(async () => {
  shop = await openWorkshop();
});
afterAll(() => shop.remove());

const table = async (...words: readonly string[]): Promise<string> => {
  const { exitCode, stdout, stderr } = await shop.quadrille(['table', ...words]);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  return stdout;
};

const REFERENCE = ['--backend', 'reference', '-q'];

describe('quadrille table --limit', () => {
  test.prop([someRides, fc.constantFrom(...FORMATS), fc.integer({ min: 1, max: 80 }), fc.boolean()], {
    numRuns: caseCount(20),
  })('gives the first rows, or groups, of the whole answer', async (rides, format, limit, isFiltered) => {
    const file = await rideFile(rides, format, 7);
    for (const rest of [isFiltered ? ['--where', 'hour > 3'] : [], ['--group-by', 'zone,hour']]) {
      const whole = (await table(file, ...rest, ...REFERENCE)).split(/\n(?=.)/);
      const first = (await table(file, ...rest, ...REFERENCE, '--limit', `${limit}`)).split(/\n(?=.)/);
      expect(first.map((line) => line.trimEnd())).toEqual(whole.slice(0, 1 + limit).map((line) => line.trimEnd()));
    }
  });

  plainTest('says that it has not read the whole file, and was called --top', async () => {
    await shop.write('rows.csv', `a\n${'1\n'.repeat(5)}`);
    const { stderr } = await shop.quadrille(['table', '@rows.csv', '--limit', '2', '--backend', 'reference']);
    expect(stderr).toMatch(/^The first \d+ rows of rows\.csv, 2 of them written/);
    const { exitCode, stderr: told } = await shop.quadrille(['table', '@rows.csv', '--top', '2']);
    expect([exitCode, told]).toEqual([2, expect.stringContaining('Write --limit K.')]);
  });
});

describe('quadrille table --schema', () => {
  plainTest.each(FORMATS)('lists the columns of %s', async (format) => {
    const rides = [{ zone: 'a', hour: null, fare: 0.5, tip: 3, card: true }] as const;
    const listed = JSON.parse(await table(await rideFile(rides, format, 7), '--schema', '--format', 'json'));
    const columns = listed.map(({ column }: { column: string }) => column);
    expect(columns).toEqual(['zone', 'hour', 'fare', 'tip', 'card']);
    for (const { type, read } of listed) expect([read, type]).toEqual([true, expect.stringMatching(/^\w+$/)]);
    expect(listed.find(({ column }: { column: string }) => column === 'zone').type).toBe('string');
    expect(JSON.parse(await table(await rideFile(rides, format, 7), '--schema', '--json'))).toEqual(listed);
  });

  plainTest('is not given with a question', async () => {
    await shop.write('rows.csv', 'a\n1\n');
    expect(await shop.quadrille(['table', '@rows.csv', '--schema', '--where', 'a > 1'])).toMatchObject({
      exitCode: 2,
      stdout: '',
    });
  });
});

describe('an answer on a terminal', () => {
  const fields: TableField[] = [
    { name: 'number', type: 'f64', nullable: true },
    { name: 'text', type: 'string', nullable: false },
    { name: 'a long name of a column', type: 'i32', nullable: false },
  ];

  test.prop([
    fc.array(fc.tuple(fc.double(), fc.string({ unit: 'grapheme-ascii', maxLength: 60 }), fc.nat()), { maxLength: 40 }),
    fc.integer({ min: 1, max: 120 }),
    fc.integer({ min: 1, max: 30 }),
    fc.integer({ min: 1, max: 9 }),
  ])('has the first rows and columns that fit, and says what it leaves out', (cells, columns, rows, batch) => {
    const writer = screenRows(fields, { columns, rows });
    let text = `${writer.begin()}`;
    for (let from = 0; from < cells.length; from += batch) {
      const some = cells.slice(from, from + batch);
      const dictionary = some.map(([, each]) => each);
      text += writer.add({
        rows: some.length,
        columns: {
          number: { type: 'f64', values: Float64Array.from(some, ([each]) => each) },
          text: { type: 'string', codes: Uint32Array.from(some.keys()), dictionary },
          'a long name of a column': { type: 'i32', values: Int32Array.from(some, ([, , each]) => each) },
        },
      });
    }
    text += writer.end();
    expect(text.endsWith('\n')).toBe(true);
    const lines = text.slice(0, -1).split('\n');
    const shown = Math.min(cells.length, Math.max(5, rows - 7));
    const last = lines.at(-1)!;
    const more = /^… (?:([\d,]+) more rows?)?(?: and )?(?:(\d) more columns? \(.+\))?; -o FILE/.exec(last);
    expect(lines).toHaveLength(1 + shown + (more === null ? 0 : 1));
    expect(Number(more?.[1] ?? 0)).toBe(cells.length - shown);
    const left = Number(more?.[2] ?? 0);
    const table = more === null ? lines : lines.slice(0, -1);
    if (left < fields.length - 1) for (const line of table) expect(line.length).toBeLessThanOrEqual(columns);
    if (left > 0) expect(last).toContain('a long name of a column');
    for (const [row, [number]] of cells.slice(0, shown).entries())
      expect(Number(table[1 + row]!.trim().split(/\s/)[0])).toBe(Object.is(number, -0) ? Number(String(-0)) : number);
  });

  const run = async (isTTY: boolean, ...words: readonly string[]): Promise<string> => {
    let text = '';
    const stream = (): Writable =>
      new Writable({
        decodeStrings: false,
        write(chunk, _, done) {
          text += chunk;
          done();
        },
      });
    const stdout = Object.assign(stream(), { isTTY, columns: 40, rows: 12 });
    const args = ['table', ...words, ...REFERENCE].map((word) => word.replace('@', `${shop.folder}/`));
    await main(args, '0.0.0', { stdout, stderr: stream() });
    return text;
  };

  plainTest('is laid out only there, and only if nothing says how it is written', async () => {
    await shop.write('rows.csv', 'a,b\n1,x\n,y\n');
    expect(await run(true, '@rows.csv')).toBe('a  b\n1  x\n–  y\n');
    for (const [isTTY, ...words] of [
      [false, '@rows.csv'],
      [true, '@rows.csv', '--format', 'csv'],
    ] as const)
      expect(await run(isTTY, ...words)).toBe('a,b\n1,x\n,y\n');
  });
});
