import { describe, expect } from 'vitest';
import { findJsonFault } from '../../../formats/text/json-syntax.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const pieces = [
  '[',
  ']',
  '{',
  '}',
  '"',
  ',',
  ':',
  ' ',
  '\n',
  '-',
  '+',
  '.',
  'e',
  '0',
  '12',
  'null',
  'true',
  'NaN',
  '\\u12aF',
  '\\n',
  '\\x',
  'é',
];
const jsonLike = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(''));
const damaged = fc
  .tuple(fc.json(), fc.nat(), fc.constantFrom('', ...pieces))
  .map(([text, at, put]) => text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + 1));

describe('findJsonFault', () => {
  test.prop([fc.oneof(fc.json(), jsonLike, damaged, fc.string())], { numRuns: caseCount(3000) })(
    'finds a fault in exactly the texts that JSON.parse refuses',
    (text) => {
      expect(findJsonFault(text) === undefined).toBe(isJson(text));
    },
  );

  test.prop([fc.oneof(jsonLike, damaged)])('reports offset, line and column consistently', (text) => {
    const fault = findJsonFault(text);
    const lines = text.slice(0, fault?.offset ?? 0).split('\n');
    expect(fault ?? { line: 1, column: 1 }).toMatchObject({ line: lines.length, column: lines.at(-1)!.length + 1 });
  });

  test.each([
    ['[1,\n 2,, 3]', 2, 4, 'expected a value'],
    ['{"a" 1}', 1, 6, "expected ':' after a key"],
    ['{"a": 1,}', 1, 9, 'expected a key in double quotes'],
    ['[1 2]', 1, 4, "expected ',' or ']'"],
    ['["a\tb"]', 1, 2, 'this string is not closed or holds a bad escape'],
    ['[Infinity]', 1, 2, 'NaN and Infinity are not numbers of JSON'],
    ['[] []', 1, 4, 'expected nothing after the value'],
    ['', 1, 1, 'the text ends too early'],
  ])('locates the fault of %j at %d:%d', (text, line, column, reason) => {
    expect(findJsonFault(text)).toMatchObject({ line, column, reason });
  });

  test('does not recurse for deep nesting', () => {
    expect(findJsonFault('['.repeat(1_000_000))).toMatchObject({
      offset: 1_000_000,
      reason: 'the text ends too early',
    });
  });
});
