import { readFile } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { describe, expect } from 'vitest';
import { COLUMNS_MEAN, type MachineReport, renderDevices } from '../../cli/devices.ts';
import { DEVICES_HELP } from '../../cli/devices-help.ts';
import { grouped } from '../../cli/grouped.ts';
import { humanLog } from '../../cli/human-log.ts';
import { Interrupted } from '../../cli/interrupt.ts';
import { jsonLog } from '../../cli/json-log.ts';
import { withoutRepeats } from '../../cli/log.ts';
import { noteTaker } from '../../cli/note-taker.ts';
import { writeToStdout } from '../../cli/standard-output.ts';
import { zonalSummary } from '../../cli/zonal-summary.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { SMALLEST_NORMAL_F32 } from '../../primitives/ir/semantics.ts';
import { fc, test } from '../law-test.ts';

test.prop([fc.oneof(fc.maxSafeInteger(), fc.bigInt())])('integers are grouped as in en-US', (value) => {
  expect(grouped(value)).toBe(value.toLocaleString('en-US'));
});

const never = new AbortController().signal;

function failingWith(code: string): { stream: Writable; received: () => number } {
  let chunks = 0;
  const stream = new Writable({
    write(_, __, done) {
      chunks++;
      done(chunks === 2 ? Object.assign(new Error(`write ${code}`), { code }) : null);
    },
  });
  return { stream, received: () => chunks };
}

describe('writeToStdout', () => {
  test.prop([fc.array(fc.string({ unit: 'grapheme', minLength: 1 }))])(
    'passes the text on unchanged',
    async (chunks) => {
      let text = '';
      const stream = new Writable({
        decodeStrings: false,
        write(chunk, _, done) {
          text += chunk;
          setImmediate(done);
        },
      });
      await writeToStdout(stream, chunks, never);
      expect(text).toBe(chunks.join(''));
      expect(stream.listenerCount('error')).toBe(0);
    },
  );

  test('stops without an error when its reader closes', async () => {
    const { stream, received } = failingWith('EPIPE');
    await expect(writeToStdout(stream, ['1', '2', '3', '4'], never)).resolves.toBe('reader-gone');
    expect(received()).toBe(2);
  });

  test('reports any other failure', async () => {
    const { stream } = failingWith('ENOSPC');
    await expect(writeToStdout(stream, ['1', '2', '3'], never)).rejects.toMatchObject({ code: 'output/write-failed' });
  });

  test('stops waiting for a reader that does not read when the run is aborted', async () => {
    const controller = new AbortController();
    const stalled = new Writable({ write: () => controller.abort(new Error('enough')) });
    await expect(writeToStdout(stalled, ['1'], controller.signal)).rejects.toThrow('enough');
  });
});

function record(isTTY = false) {
  let text = '';
  const write = (part: string): void => {
    text += part;
  };
  return { isTTY, columns: 80, write, text: () => text };
}

const step = [2 ** -20, 2 ** -20] as const;
const figures = { backend: 'workers', zones: 3231, cells: 2n ** 60n, seconds: 1.25, outputs: ['a.csv'] };
const summary = zonalSummary({ ...figures, rasters: 1, bands: 1, gridSteps: [step] });
const report = { done: 1, total: 2, rate: 3, eta: 4, elapsed: 5 };

describe('humanLog', () => {
  test('counts the notes after the twentieth instead of showing them', () => {
    const stream = record();
    const log = humanLog(stream, { quiet: false });
    for (let n = 1; n <= 25; n++) log.note({ code: 'test/note', message: `Note ${n}.` });
    log.summary(summary);
    expect(stream.text()).toContain('note: Note 20.\n');
    expect(stream.text()).not.toContain('Note 21.');
    expect(stream.text()).toContain('note: 5 more; --json-log lists them.\n');
    expect(stream.text()).toContain('3,231 zones, 1,152,921,504,606,846,976 cells inside');
    expect(stream.text()).toContain('9.54e-7 × 9.54e-7');
  });

  test('draws a progress bar only on a terminal, and clears it before a line', () => {
    const [terminal, file, quiet] = [record(true), record(false), record(true)];
    for (const stream of [terminal, file]) humanLog(stream, { quiet: false }).progress(report, 'cells');
    humanLog(quiet, { quiet: true }).progress(report, 'cells');
    expect(terminal.text()).toContain('50 %');
    expect([file.text(), quiet.text()]).toEqual(['', '']);
    const log = humanLog(terminal, { quiet: false });
    log.progress(report, 'cells');
    log.note({ code: 'test/note', message: 'Hm.' });
    expect(terminal.text().endsWith('\r\u001b[Knote: Hm.\n')).toBe(true);
  });

  test('prints an error in one line, even when quiet and with line breaks in it', () => {
    const stream = record();
    const error = new FormatError('format/x', 'Broken\n  here.', { place: { file: 'a\nb.tif' }, remedy: 'Mend it.' });
    humanLog(stream, { quiet: true }).error(error, 2);
    expect(stream.text()).toBe('quadrille: a b.tif: Broken here. Mend it.\n');
  });

  test('marks an unexpected error as a bug', () => {
    const stream = record();
    humanLog(stream, { quiet: false }).error(new TypeError('x is undefined'), 1);
    expect(stream.text()).toMatch(/^quadrille: x is undefined \(This is a bug in quadrille.*QUADRILLE_DEBUG=1.*\)\n$/);
  });
});

describe('jsonLog', () => {
  test('prints every event as one object per line', () => {
    const stream = record();
    const log = jsonLog(stream, { quiet: false });
    log.note({ code: 'zones/unclosed-rings', message: 'Two\nlines.', count: 2, zone: 'a' });
    log.progress(report, 'cells');
    log.summary(summary);
    log.error(new Interrupted('SIGINT'), 130);
    const lines = stream
      .text()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toEqual([
      { event: 'note', code: 'zones/unclosed-rings', message: 'Two\nlines.', count: 2, zone: 'a' },
      { event: 'progress', doneCells: 1, totalCells: 2, cellsPerSecond: 3, eta: 4, elapsed: 5 },
      { ...figures, event: 'result', cells: '1152921504606846976', gridStep: step },
      { event: 'error', code: 'run/interrupted', message: 'Stopped by SIGINT; nothing was written.', exitCode: 130 },
    ]);
  });

  test('prints only errors when quiet', () => {
    const stream = record();
    const log = jsonLog(stream, { quiet: true });
    log.note({ code: 'a/b', message: 'x' });
    log.progress(report, 'cells');
    log.summary(summary);
    expect(stream.text()).toBe('');
    log.error(new Error('x'), 1);
    expect(JSON.parse(stream.text())).toEqual({
      event: 'error',
      code: 'internal/unexpected',
      message: 'x',
      exitCode: 1,
    });
  });
});

describe('renderDevices', () => {
  const limits = { bindingBytes: 2 ** 27, workgroups: 65_535, storageBuffers: 8, memoryBytes: 3.5 * 2 ** 30 };
  const devices: MachineReport = {
    auto: 1,
    gpus: [],
    entries: [
      {
        backend: 'reference',
        device: 'this thread',
        unavailable: undefined,
        limits: { bindingBytes: Infinity, workgroups: Infinity, storageBuffers: Infinity, memoryBytes: Infinity },
        determinism: { level: 'exact', ulp: 0, reasons: [] },
      },
      {
        backend: 'workers',
        device: '2 threads',
        unavailable: undefined,
        limits,
        determinism: { level: 'exact', ulp: 0, reasons: [] },
      },
      {
        backend: 'webgpu',
        adapter: 'software',
        device: 'SwiftShader',
        unavailable: undefined,
        limits,
        determinism: { level: 'within-ulp', ulp: 2, reasons: ['Division is within 2 ulp.'] },
      },
      {
        backend: 'webgpu',
        adapter: 'hardware',
        device: undefined,
        unavailable: 'No driver.',
        limits: undefined,
        determinism: undefined,
      },
    ],
  };

  test('is a table, then remarks', () => {
    expect(renderDevices(devices, { verbose: false }).split('\n')).toEqual([
      'backend         adapter   device         f32 results   memory   binding  workgroups  buffers',
      'reference       –         this thread    exact         –        –        –           –',
      'workers (auto)  –         2 threads      exact         3.5 GiB  128 MiB  65,535      8',
      'webgpu          software  SwiftShader    within 2 ulp  3.5 GiB  128 MiB  65,535      8',
      'webgpu          hardware  not available  –             –        –        –           –',
      '',
      ...COLUMNS_MEAN.split('\n'),
      '',
      'webgpu (software): Division is within 2 ulp.',
      'webgpu (hardware): No driver.',
      '',
    ]);
  });

  test('has the GPUs with their numbers, where the driver lists them', () => {
    const gpus = [0, 1].map((index) => ({
      index,
      name: 'NVIDIA H200',
      bus: `00000000:0${index + 6}:00.0`,
      uuid: `GPU-${index}`,
    }));
    const [, , cards, remarks] = renderDevices({ ...devices, gpus }, { verbose: false }).split('\n\n');
    expect(cards!.split('\n')).toEqual([
      'GPU  name         bus               UUID',
      '0    NVIDIA H200  00000000:06:00.0  GPU-0',
      '1    NVIDIA H200  00000000:07:00.0  GPU-1',
    ]);
    expect(remarks).toContain('No driver.');
  });

  test('explains every column that has a unit', () => {
    const [header = ''] = renderDevices(devices, { verbose: false }).split('\n');
    const explained = COLUMNS_MEAN.split('\n').map((line) => line.split(/ {2,}/)[0]);
    for (const column of header.split(/ {2,}/).slice(3)) expect(explained).toContain(column);
  });

  test.prop([fc.array(fc.stringMatching(/^[a-z]{10,}$/)), fc.boolean(), fc.boolean()])(
    'explains exact devices only on request, and inexact ones always',
    (reasons, exact, verbose) => {
      const level = exact ? ('exact' as const) : ('within-ulp' as const);
      const [entry] = devices.entries;
      const probed = { ...entry!, determinism: { level, ulp: exact ? 0 : 2, reasons } };
      const lines = renderDevices({ auto: 0, gpus: [], entries: [probed] }, { verbose }).split('\n');
      const said = reasons.map((reason) => `reference: ${reason}`);
      expect(lines.filter((line) => line.startsWith('reference: '))).toEqual(verbose || !exact ? said : []);
    },
  );
});

test('help, guide and devices print the range of f32 that backends agree on, from one constant', async () => {
  const guide = await readFile(new URL('../../docs/guide/your-first-pipeline.md', import.meta.url), 'utf8');
  for (const text of [DEVICES_HELP, COLUMNS_MEAN, guide]) expect(text).toContain(` ${SMALLEST_NORMAL_F32} `);
});

test('a note that several readers have is logged and kept once', () => {
  const logged: string[] = [];
  const log = { ...jsonLog({ write: (line) => logged.push(line) }, { quiet: false }) };
  const [a, b] = [
    { code: 'crs/assumed', message: 'A.' },
    { code: 'crs/assumed', message: 'B.' },
  ];
  const notes = noteTaker(log);
  for (const some of [[a], [b, a], [a, b]]) notes.take(some);
  expect(notes.all).toEqual([a, b]);
  expect(logged.map((line) => JSON.parse(line).message)).toEqual(['A.', 'B.']);
  const once = withoutRepeats(log);
  for (const note of [a, a, b]) once.note(note);
  expect(logged).toHaveLength(4);
});
