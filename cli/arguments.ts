import type { FillRule } from '../algorithms/geometry/polygons.ts';
import type { OnBadRecord } from '../formats/left-out.ts';
import type { ZoneOptions } from '../formats/polygons/zones.ts';
import { UsageError } from '../formats/usage-error.ts';
import { type OptionSpec, type OptionValues, parsed, text } from './command-line.ts';
import { MEMORY_SPEC, type MemoryOptions, parseMemory } from './memory.ts';
import { parseCount, parseCrs } from './values.ts';

/** The values of the option `--backend`. */
export type BackendChoice = 'auto' | 'workers' | 'webgpu' | 'reference';
/** The values of the option `--adapter`. */
export type AdapterChoice = 'auto' | 'hardware' | 'software';

/** The values of `--backend`, `--adapter` and `--workers`. */
export interface BackendOptions {
  readonly backend: BackendChoice;
  readonly adapter: AdapterChoice;
  readonly workers: number | undefined;
}

/** How detailed the messages of a command on stderr are, and in which form they are printed. */
export interface VoiceOptions {
  readonly jsonLog: boolean;
  readonly quiet: boolean;
}

/** How files of polygons are read. */
export type ReadingOptions = Pick<
  ZoneOptions,
  'layer' | 'id' | 'geometryColumn' | 'crs' | 'antimeridian' | 'onBadRecord'
>;

/** The options of commands that compute on a backend. */
export interface ComputeOptions extends BackendOptions, MemoryOptions, VoiceOptions {}

export const HELP_SPEC: OptionSpec = { name: 'help', group: 'Running', short: 'h', help: 'this page' };

export const VOICE_SPECS: readonly OptionSpec[] = [
  { name: 'json-log', group: 'Running', help: 'notes, progress, errors and a summary as JSON lines on stderr' },
  { name: 'quiet', group: 'Running', short: 'q', help: 'only errors on stderr' },
  HELP_SPEC,
];

/** The option of commands that tell figures of a run, for programs. */
export const JSON_SPEC: OptionSpec = {
  name: 'json',
  group: 'Output',
  help: 'the figures of the run as one JSON object on stdout',
};

export const ADAPTER_SPEC: OptionSpec = {
  name: 'adapter',
  group: 'Running',
  value: 'KIND',
  help: 'the kind of WebGPU adapter: auto, hardware or software',
  choices: ['auto', 'hardware', 'software'],
};

export const WORKERS_SPEC: OptionSpec = {
  name: 'workers',
  group: 'Running',
  value: 'N',
  help: 'number of worker threads (default: one per core)',
};

/** Descriptions of the options that {@link parseBackend} parses. */
export const BACKEND_SPECS: readonly OptionSpec[] = [
  {
    name: 'backend',
    group: 'Running',
    value: 'NAME',
    help: 'auto (a hardware GPU, otherwise workers), workers, webgpu or reference',
    choices: ['auto', 'workers', 'webgpu', 'reference'],
  },
  ADAPTER_SPEC,
  WORKERS_SPEC,
];

/** Descriptions of the options that {@link parseCompute} parses. */
export const COMPUTE_SPECS: readonly OptionSpec[] = [...BACKEND_SPECS, MEMORY_SPEC, ...VOICE_SPECS];

/**
 * Description of the option `--fill`, which {@link parseFill} parses. `polygon` is the noun that the help text uses for
 * a polygon.
 */
export function fillSpec(polygon: string): OptionSpec {
  return {
    name: 'fill',
    group: 'Input',
    value: 'union|even-odd',
    help: `a ${polygon} is all its parts together (default), or the points inside an odd number of its rings`,
    choices: ['union', 'even-odd'],
  };
}

/** Description of the option `--on-bad-record`. */
export const BAD_RECORD_SPEC: OptionSpec = {
  name: 'on-bad-record',
  group: 'Input',
  value: 'stop|skip',
  help: 'on a record that cannot be used: stop (default), or count it and skip it',
  choices: ['stop', 'skip'],
};

/** Description of the option `--antimeridian`. */
export const ANTIMERIDIAN_SPEC: OptionSpec = {
  name: 'antimeridian',
  group: 'Input',
  value: 'unwrap',
  help: 'treat rings that jump by more than 180° of longitude as crossing the antimeridian',
  choices: ['unwrap'],
};

export const GEOMETRY_COLUMN_SPEC: OptionSpec = {
  name: 'geometry-column',
  group: 'Input',
  value: 'NAME',
  help: 'the column of the geometries in GeoParquet or CSV (default: as the file says)',
};

/** Parses the options for reading files of polygons. */
export function parseReading(values: OptionValues): ReadingOptions {
  return {
    layer: text(values, 'layer'),
    id: text(values, 'id'),
    geometryColumn: text(values, 'geometry-column'),
    crs: parsed(values, 'assume-crs', parseCrs),
    antimeridian: text(values, 'antimeridian') as 'unwrap' | undefined,
    onBadRecord: text(values, 'on-bad-record') as OnBadRecord | undefined,
  };
}

export function parseFill(values: OptionValues): FillRule {
  return (text(values, 'fill') as FillRule | undefined) ?? 'union';
}

export const DEVICES_SPECS: readonly OptionSpec[] = [
  { name: 'verbose', group: 'Output', help: 'also say how each device rounds, and how the code for it compensates' },
  { ...JSON_SPEC, help: 'the list as one JSON object on stdout' },
  HELP_SPEC,
];

/** Parses the options of a command that computes. */
export function parseCompute(values: OptionValues): ComputeOptions {
  return { ...parseBackend(values), ...parseMemory(values), ...parseVoice(values) };
}

export function parseVoice(values: OptionValues): VoiceOptions {
  return { jsonLog: values.has('json-log'), quiet: values.has('quiet') };
}

/** Parses the options `--backend`, `--adapter` and `--workers`. */
export function parseBackend(values: OptionValues): BackendOptions {
  const backend = (text(values, 'backend') as BackendChoice | undefined) ?? 'auto';
  const adapter = text(values, 'adapter') as AdapterChoice | undefined;
  const workers = parsed(values, 'workers', parseCount);
  if (adapter !== undefined && backend !== 'auto' && backend !== 'webgpu')
    throw pointless('adapter', backend, 'webgpu');
  if (workers !== undefined && backend !== 'auto' && backend !== 'workers')
    throw pointless('workers', backend, 'workers');
  return { backend, adapter: adapter ?? 'auto', workers };
}

function pointless(option: string, backend: BackendChoice, fit: BackendChoice): UsageError {
  return new UsageError('usage/contradiction', `--${option} has no effect with --backend ${backend}.`, {
    remedy: `Leave one of them out, or use --backend ${fit}.`,
  });
}

/**
 * Throws if the value of more than one output option is `-`. `targets` maps the name of each output option to its
 * value.
 */
export function checkOneToStdout(targets: Readonly<Record<string, string | undefined>>, remedy: string): void {
  const claims = Object.entries(targets).filter(([, target]) => target === '-');
  if (claims.length < 2) return;
  const names = claims.map(([name]) => `--${name}`).join(' and ');
  throw new UsageError('usage/stdout-twice', `${names} cannot both write to stdout.`, { remedy });
}
