import { describe, expect } from 'vitest';
import { progressBar, renderProgress } from '../../cli/progress-bar.ts';
import { fc, test } from '../law-test.ts';

const count = fc.nat({ max: 2 ** 31 });
const report = fc.record({
  done: count,
  total: fc.option(count, { nil: undefined }),
  rate: fc.double({ min: 0, max: 1e15, noNaN: true }),
  eta: fc.option(fc.double({ min: 0, max: 1e6, noNaN: true }), { nil: undefined }),
  elapsed: fc.double({ min: 0, max: 1e6, noNaN: true }),
});

/** A terminal of one line. It understands text, carriage returns, and the code that erases to the end of the line. */
function terminal(columns: number) {
  let line = '';
  let column = 0;
  return {
    isTTY: true,
    columns,
    line: () => line,
    column: () => column,
    write(text: string): void {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are told by control characters.
      for (const part of text.split(/(\r|\u001b\[K)/)) {
        if (part === '\r') column = 0;
        else if (part === '\u001b[K') line = line.slice(0, column);
        else {
          line = line.slice(0, column) + part + line.slice(column + part.length);
          column += part.length;
        }
      }
    },
  };
}

describe('renderProgress', () => {
  test.prop([report, fc.integer({ min: 1, max: 300 })])('stays within one line of the terminal', (value, columns) => {
    const text = renderProgress(value, 'cells', columns);
    expect([...text].length).toBeLessThan(columns);
    const withFigures = renderProgress(value, 'bytes', columns, { polygons: value.done, quadrants: value.rate });
    expect([...withFigures].length).toBeLessThan(columns);
    expect(text).not.toContain('\n');
  });

  test('shows bar, percentage, rate and remaining time', () => {
    const value = { done: 25e6, total: 100e6, rate: 12.34e6, eta: 75 / 12.34, elapsed: 2 };
    expect(renderProgress(value, 'cells', 200)).toBe(
      `${'━'.repeat(10)}${'─'.repeat(30)}  25 %  12 Mcells/s  0:07 left`,
    );
  });

  test('of a single unit shows the elapsed time until it is done, and no percentage', () => {
    const under = { total: 1, rate: 0, eta: undefined };
    expect([0, 2.4, 75].map((elapsed) => renderProgress({ ...under, done: 0, elapsed }, 'tiles', 80))).toEqual([
      '0:00',
      '0:03',
      '1:15',
    ]);
    const done = renderProgress({ done: 1, total: 1, rate: 0.2, eta: 0, elapsed: 5 }, 'tiles', 200);
    expect(done).toBe(`${'━'.repeat(40)} 100 %  0 tiles/s  0:00 left`);
    const first = renderProgress({ ...under, total: 2, done: 0, elapsed: 3 }, 'tiles', 200);
    expect(first).toBe(`${'─'.repeat(40)}   0 %  0:03`);
  });

  test.each([
    [0, '0:00 left'],
    [59.2, '1:00 left'],
    [3599, '59:59 left'],
    [3661, '1:01:01 left'],
  ])('writes %f seconds as %s', (eta, text) => {
    expect(renderProgress({ done: 1, total: 2, rate: 1, eta, elapsed: 1 }, 'cells', 100)).toContain(text);
  });

  test.each([
    [0, '0 cells/s'],
    [999.4, '999 cells/s'],
    [1500, '1.5 kcells/s'],
    [4.1e9, '4.1 Gcells/s'],
  ])('writes a rate of %f as %s', (rate, text) => {
    expect(renderProgress({ done: 1, total: 2, rate, eta: 1, elapsed: 1 }, 'cells', 100)).toContain(text);
  });
});

describe('progressBar', () => {
  test.prop([fc.array(report, { minLength: 1 }), fc.integer({ min: 10, max: 120 })])(
    'overwrites earlier reports with the last one, and leaves nothing when cleared',
    (reports, columns) => {
      const screen = terminal(columns);
      const bar = progressBar(screen);
      for (const value of reports) bar.draw(value, 'cells');
      expect(screen.line()).toBe(renderProgress(reports.at(-1)!, 'cells', columns));
      bar.clear();
      expect([screen.line(), screen.column()]).toEqual(['', 0]);
    },
  );

  test('writes nothing when there is nothing to clear', () => {
    const screen = terminal(80);
    screen.write('kept');
    progressBar(screen).clear();
    expect(screen.line()).toBe('kept');
  });
});
