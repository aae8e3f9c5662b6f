import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer, type IndexWorkshop, openIndexWorkshop } from './cli-index-support.ts';

let shop: IndexWorkshop;
beforeAll(async () => {
  shop = await openIndexWorkshop();
});
afterAll(() => shop.remove());

const neighbours = (...words: readonly string[]) => shop.quadrille(['neighbours', ...words, '--backend', 'reference']);

describe('quadrille neighbours', () => {
  test('reads rows without a header and numbers with a decimal comma', async () => {
    await shop.write('plain.csv', 'x,y\n1.5,0\n4,0\n2,0\n');
    const expected = await answer(neighbours('@plain.csv', '-k', '1'));
    expect(expected).toContain('\n0,1,2,0.5\n');
    await shop.write('commas.csv', 'x;y\n1,5;0\n4;0\n2,0;0\n');
    expect(await answer(neighbours('@commas.csv', '-k', '1', '--decimal', ','))).toBe(expected);
    await shop.write('rows.csv', '1,5;0\n4;0\n2,0;0\n');
    const words = ['@rows.csv', '-k', '1', '--decimal', ',', '--columns', 'column1,column2'];
    expect(await answer(neighbours(...words, '--no-header'))).toBe(expected);
    expect((await neighbours(...words)).exitCode).not.toBe(0);
  });

  test('reads queries in the same way', async () => {
    await shop.write('points.csv', '0;0\n4;0\n');
    await shop.write('queries.csv', '3,5;0\n');
    const words = ['@points.csv', '--queries', '@queries.csv', '-k', '1', '--columns', 'column1,column2'];
    expect(await answer(neighbours(...words, '--no-header', '--decimal', ','))).toMatch(/\n0,1,1,0\.5\n$/);
  });
});

describe('quadrille index query', () => {
  test.each([
    ['--points', 'points', '35;35,0\n10,0;10\n', 'point,set,polygon\n0,shapes,island\n1,shapes,frame\n'],
    ['--windows', 'windows', '30,5;30,5;32;33\n', 'island'],
  ])('reads rows of %s without a header and numbers with a decimal comma', async (option, name, rows, expected) => {
    const header = name === 'points' ? 'x;y\n' : 'left;bottom;right;top\n';
    await shop.write('named.csv', `${header}${rows}`);
    await shop.write('plain.csv', rows);
    const query = (file: string, ...words: readonly string[]) =>
      shop.query('@shapes.maq', option, file, '--decimal', ',', ...words);
    const found = await answer(query('@named.csv'));
    expect(found).toContain(expected);
    expect(await answer(query('@plain.csv', '--no-header'))).toBe(found);
    expect(await query('@plain.csv')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--no-header') });
    expect((await shop.query('@shapes.maq', option, '@plain.csv', '--no-header')).exitCode).not.toBe(0);
  });
});
