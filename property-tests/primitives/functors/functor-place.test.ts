import { describe, expect, test } from 'vitest';
import { placeIn } from '../../../primitives/functors/place.ts';

describe('the source place of an error', () => {
  const own = new URL('../../../primitives/functors/value.ts', import.meta.url);

  test.each([
    ['at make (/home/a (b)/functors.ts:3:14)', '/home/a (b)/functors.ts'],
    ['at /home/a (b)/functors.ts:3:14', '/home/a (b)/functors.ts'],
    ['at async file:///home/a%20b/functors.ts:3:14', '/home/a b/functors.ts'],
    ['at Module.make [as other] (file:///C:/a/functors.ts:3:14)', 'C:/a/functors.ts'],
    ['at make (C:\\a\\functors.ts:3:14)', 'C:/a/functors.ts'],
    ['make@http://localhost:5173/src/functors.ts:3:14', 'http://localhost:5173/src/functors.ts'],
    ['at make (/mine/primitives/functors/functors.ts:3:14)', '/mine/primitives/functors/functors.ts'],
  ])('is found in the stack frame %s', (frame, file) => {
    const stack = `Error: made up\n    at Value.add (${own.pathname}:9:1)\n    at node:internal/x:1:1\n    ${frame}`;
    const lines = frame.includes('@') ? `add@${own.pathname}:9:1\n${frame}` : stack;
    expect(placeIn(lines)).toEqual({ file, line: 3, column: 14 });
  });

  test('is unknown when no frame is the caller’s', () => {
    expect(placeIn(`Error\n    at add (${own.href}:9:1)`)).toBeUndefined();
    expect(placeIn(undefined)).toBeUndefined();
  });
});
