import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { humanLog } from '../../cli/human-log.ts';
import type { Log } from '../../cli/log.ts';
import { ERASE_LINE } from '../../cli/progress-bar.ts';
import { withSignOfLife } from '../../cli/sign-of-life.ts';
import { clearBefore, writeToStdout } from '../../cli/standard-output.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A terminal: what was written, and the line in which the cursor is. */
function terminal() {
  let text = '';
  const stream = Object.assign(
    new Writable({
      decodeStrings: false,
      write(chunk, _, done) {
        text += chunk;
        done();
      },
    }),
    { isTTY: true, columns: 60 },
  );
  const lines = (): string[] => text.split('\n').map((line) => line.split(ERASE_LINE).at(-1)!);
  return { stream, lines };
}

const opened = () => {
  const { stream, lines } = terminal();
  return { ...withSignOfLife(humanLog(stream, { quiet: false }), stream), stream, lines };
};
const report = { done: 1, total: 2, rate: 1, eta: 1, elapsed: 1 };

describe('a command at a terminal', () => {
  test('says that it works a tenth of a second after its start, and leaves nothing', () => {
    const { begin, end, lines } = opened();
    begin();
    vi.advanceTimersByTime(99);
    expect(lines()).toEqual(['']);
    vi.advanceTimersByTime(1);
    expect(lines()).toEqual(['working  0:01']);
    vi.advanceTimersByTime(3000);
    expect(lines()).toEqual(['working  0:04']);
    end();
    expect(lines()).toEqual(['']);
    vi.advanceTimersByTime(3000);
    expect(lines()).toEqual(['']);
  });

  const words: readonly [string, (log: Log) => void, string[]][] = [
    ['a note', (log) => log.note({ code: 'a', message: 'b' }), ['note: b', '']],
    ['news', (log) => log.news({ line: 'b', fields: {} }), ['b', '']],
    ['a summary', (log) => log.summary({ lines: ['b'], fields: {} }), ['b', '']],
    ['an error', (log) => log.error(new Error('b'), 1), [expect.stringContaining('b') as unknown as string, '']],
  ];
  test.each(words)('puts %s in a line of its own', (_, say, lines) => {
    const one = opened();
    one.begin();
    vi.advanceTimersByTime(200);
    say(one.log);
    expect(one.lines().slice(-lines.length)).toEqual(lines);
    vi.advanceTimersByTime(100);
    expect(one.lines().at(-1)).toMatch(/^working/);
    one.end();
    expect(one.lines().slice(-lines.length)).toEqual(lines);
  });

  test('shows its progress in place of the sign, and the sign again behind it', () => {
    const { begin, end, log, lines } = opened();
    begin();
    vi.advanceTimersByTime(200);
    log.progress(report, 'cells');
    vi.advanceTimersByTime(1000);
    expect(lines()).toEqual([expect.stringMatching(/50 %/)]);
    log.clearProgress();
    expect(lines()).toEqual(['']);
    vi.advanceTimersByTime(100);
    expect(lines()).toEqual([expect.stringMatching(/^working/)]);
    end();
  });

  test('clears its progress before it writes to the same terminal', async () => {
    const { begin, end, log, lines, stream } = opened();
    clearBefore(stream, log.clearProgress);
    begin();
    vi.advanceTimersByTime(200);
    await writeToStdout(stream, ['a,b\n'], new AbortController().signal);
    log.progress(report, 'cells');
    await writeToStdout(stream, ['1,2\n'], new AbortController().signal);
    end();
    expect(lines()).toEqual(['a,b', '1,2', '']);
  });
});
