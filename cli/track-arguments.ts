import { UsageError } from '../formats/usage-error.ts';
import type { VideoChannel } from '../formats/video/video.ts';
import { COMPUTE_SPECS, type ComputeOptions, checkOneToStdout, JSON_SPEC, parseCompute } from './arguments.ts';
import { type OptionSpec, parsed, readCommand, text } from './command-line.ts';
import {
  checkEnding,
  checkPlotName,
  checkTableName,
  parseCount,
  parseDirection,
  parseFromZero,
  parsePositive,
  parseRadii,
} from './values.ts';

type CellSign = 'bright' | 'dark' | 'both';

const SIGNS: readonly CellSign[] = ['bright', 'dark', 'both'];
const CHANNELS: readonly VideoChannel[] = ['red', 'green', 'blue', 'grey'];

/** The parsed command line of `quadrille track`. The files that it names have not been opened. */
export interface TrackOptions extends ComputeOptions {
  /** Path of a video file or a folder of images, or `-` for Y4M on stdin. */
  readonly video: string;
  readonly radii: readonly number[];
  readonly threshold: number | undefined;
  readonly sign: CellSign | undefined;
  readonly direction: { readonly x: number; readonly y: number } | undefined;
  /** Side of a pixel in micrometres. */
  readonly pixelSize: number | undefined;
  /** Frames per second. */
  readonly frameRate: number | undefined;
  readonly detectEvery: number | undefined;
  readonly maxCells: number;
  readonly channel: VideoChannel;
  readonly background: 'still' | 'none';
  readonly onError: 'stop' | 'keep';
  /**
   * Path of the table of tracks, or `-` for stdout; undefined if the table is not written. `plot`, `report` and `trace`
   * are paths of the same kind.
   */
  readonly out: string | undefined;
  readonly plot: string | undefined;
  readonly report: string | undefined;
  readonly trace: string | undefined;
  /** Path of the folder for images with the contours of the cells; undefined if they are not written. */
  readonly overlay: string | undefined;
  readonly ctc: string | undefined;
  /** Whether statistics of the run are written to stdout as JSON. */
  readonly json: boolean;
}

const DEFAULT_RADII = '8:20:2';
const DEFAULT_MAX_CELLS = 4096;

export const TRACK_SPECS: readonly OptionSpec[] = [
  {
    name: 'radius',
    group: 'Cells',
    value: 'LO:HI:STEP',
    help: `radii of the circles that find cells, in pixels (default ${DEFAULT_RADII})`,
  },
  { name: 'threshold', group: 'Cells', value: 'T', help: 'cells have a score above T, or below -T (default 1.8)' },
  {
    name: 'sign',
    group: 'Cells',
    value: SIGNS.join('|'),
    help: 'find cells brighter or darker than their surroundings (default both)',
    choices: SIGNS,
  },
  {
    name: 'direction',
    group: 'Cells',
    value: 'X,Y',
    help: 'the direction of flow, x to the right and y down (default: to the right)',
  },
  { name: 'detect-every', group: 'Cells', value: 'K', help: 'look for cells in every K-th frame (default 10)' },
  {
    name: 'max-cells',
    group: 'Cells',
    value: 'N',
    help: `max number of cells in a frame (default ${DEFAULT_MAX_CELLS})`,
  },
  {
    name: 'background',
    group: 'Cells',
    value: 'still|none',
    help: 'still: subtract the background that does not move; reads the video twice (default none)',
    choices: ['still', 'none'],
  },
  {
    name: 'channel',
    group: 'Input',
    value: CHANNELS.join('|'),
    help: 'the channel of a colour video (default grey, its luminance)',
    choices: CHANNELS,
  },
  {
    name: 'pixel-size',
    group: 'Input',
    value: 'µm',
    help: 'side of a pixel in micrometres, instead of the value in the file',
  },
  { name: 'frame-rate', group: 'Input', value: 'N', help: 'frames per second, instead of the value in the file' },
  {
    name: 'out',
    group: 'Output',
    short: 'o',
    value: 'FILE.csv',
    help: 'the tracks; - is stdout (default, unless another output uses it)',
  },
  {
    name: 'plot',
    group: 'Output',
    value: 'FILE.svg',
    help: 'tracks over the first frame and a histogram of their speeds, as SVG (see below)',
  },
  { name: 'overlay', group: 'Output', value: 'FOLDER', help: 'every frame with the contours of its cells, as PNG' },
  {
    name: 'ctc',
    group: 'Output',
    value: 'FOLDER',
    help: 'label images and tracks in the format of the Cell Tracking Challenge',
  },
  {
    name: 'report',
    group: 'Output',
    value: 'FILE.html',
    help: 'one page with figures, tracks, speeds and a timeline of the run (see below)',
  },
  { name: 'trace', group: 'Output', value: 'FILE.json', help: 'a trace of the run, for chrome://tracing and Perfetto' },
  JSON_SPEC,
  {
    name: 'on-error',
    group: 'Input',
    value: 'stop|keep',
    help: 'on a frame that cannot be read: stop and write nothing (default), or keep the frames before',
    choices: ['stop', 'keep'],
  },
  ...COMPUTE_SPECS,
];

/**
 * Parses the arguments after `quadrille track`.
 *
 * @throws UsageError if the arguments are invalid.
 */
export function parseTrackArguments(args: readonly string[]): TrackOptions {
  const { words, values } = readCommand(args, TRACK_SPECS, ['VIDEO']);
  const [plot, report, trace, json] = [
    text(values, 'plot'),
    text(values, 'report'),
    text(values, 'trace'),
    values.has('json'),
  ];
  const takesStdout = json || [plot, report, trace].includes('-');
  const options: TrackOptions = {
    video: words[0]!,
    radii: parseRadii(text(values, 'radius') ?? DEFAULT_RADII, '--radius'),
    threshold: parsed(values, 'threshold', parseFromZero),
    sign: text(values, 'sign') as CellSign | undefined,
    direction: parsed(values, 'direction', parseDirection),
    pixelSize: parsed(values, 'pixel-size', parsePositive),
    frameRate: parsed(values, 'frame-rate', parsePositive),
    detectEvery: parsed(values, 'detect-every', parseCount),
    maxCells: parsed(values, 'max-cells', parseCount) ?? DEFAULT_MAX_CELLS,
    channel: (text(values, 'channel') as VideoChannel | undefined) ?? 'grey',
    background: (text(values, 'background') as 'still' | 'none' | undefined) ?? 'none',
    onError: (text(values, 'on-error') as 'stop' | 'keep' | undefined) ?? 'stop',
    out: text(values, 'out') ?? (takesStdout ? undefined : '-'),
    plot,
    report,
    trace,
    overlay: text(values, 'overlay'),
    ctc: text(values, 'ctc'),
    json,
    ...parseCompute(values),
  };
  checkInput(options);
  checkOutputs(options);
  return options;
}

function checkInput({ video, background }: TrackOptions): void {
  if (video !== '-' || background !== 'still') return;
  throw new UsageError(
    'usage/contradiction',
    '--background still reads the video twice, and standard input can be read only once.',
    {
      remedy: 'Write the video to a file first, or leave --background out.',
    },
  );
}

function checkOutputs({ out, plot, overlay, ctc, report, trace, json }: TrackOptions): void {
  const remedy = 'Send all but one of them to a file (without --out the tracks go to stdout).';
  checkOneToStdout({ out, plot, report, trace, json: json ? '-' : undefined }, remedy);
  for (const [option, folder] of [
    ['--overlay', overlay],
    ['--ctc', ctc],
  ] as const) {
    if (folder !== '-') continue;
    throw new UsageError('usage/folder', `${option} writes a folder, so it cannot write to stdout.`, {
      remedy: 'Name a folder.',
    });
  }
  if (out !== undefined) checkTableName(out, '--out', [], 'Name a file that ends in .csv.');
  if (plot !== undefined) checkPlotName(plot, '--plot');
  if (report !== undefined) checkEnding(report, '--report', 'html');
  if (trace !== undefined) checkEnding(trace, '--trace', 'json');
}
