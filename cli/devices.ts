import type { DeviceEntry, DeviceReport } from '../devices.ts';
import type { Determinism } from '../primitives/contract/backend.ts';
import { SMALLEST_NORMAL_F32 } from '../primitives/ir/semantics.ts';
import type { Card } from './cards.ts';
import { textTable } from './text-table.ts';

/** The report of `quadrille devices`: backends and adapters, and the graphics cards by the numbers that `--gpu` takes. */
export interface MachineReport extends DeviceReport {
  /** Empty where the driver has no tool that lists cards. */
  readonly gpus: readonly Card[];
}

/**
 * Formats the report of `quadrille devices`: a table of devices, explanations of its columns, a table of GPUs if there
 * are any, and remarks on devices. Remarks say why a device is not available, and how its arithmetic deviates. For a device whose f32 results are
 * exact (because the code for it compensates), deviations are included only if `verbose` is true.
 */
export function renderDevices(
  { auto, entries, gpus }: MachineReport,
  { verbose }: { readonly verbose: boolean },
): string {
  const rows = entries.map((entry, index) => row(entry, index === auto));
  const remarks = entries.flatMap((entry) => remarksOn(entry, verbose));
  const parts = [
    textTable([HEADER, ...rows]),
    COLUMNS_MEAN,
    ...(gpus.length === 0 ? [] : [textTable([CARDS_HEADER, ...gpus.map(cardRow)])]),
    ...(remarks.length === 0 ? [] : [remarks.join('\n')]),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** Explanations of the table's columns. */
export const COLUMNS_MEAN: string = `f32 results  exact: the same bytes as on every other backend, for zero and magnitudes from
             ${SMALLEST_NORMAL_F32} (2^-126). A functor must not rest on smaller numbers, which a device may flush to
             zero; commands do not. If a device rounds differently, the code for it compensates; --verbose says where and how.
memory       bytes that all columns together may take
binding      bytes of one column that a kernel can access at a time; longer columns are split
workgroups   groups of threads along one dimension of a launch; larger launches take more dimensions or are split
buffers      columns that a kernel can bind at a time
–            unlimited, or not known`;

const HEADER = ['backend', 'adapter', 'device', 'f32 results', 'memory', 'binding', 'workgroups', 'buffers'];

const CARDS_HEADER = ['GPU', 'name', 'bus', 'UUID'];

function cardRow({ index, name, bus, uuid }: Card): string[] {
  return [`${index}`, name, bus, uuid];
}

function row({ backend, adapter, device, limits, determinism }: DeviceEntry, auto: boolean): string[] {
  return [
    auto ? `${backend} (auto)` : backend,
    adapter ?? '–',
    device ?? 'not available',
    determinism === undefined ? '–' : levelOf(determinism),
    bytes(limits?.memoryBytes),
    bytes(limits?.bindingBytes),
    amount(limits?.workgroups),
    amount(limits?.storageBuffers),
  ];
}

function levelOf({ level, ulp }: Determinism): string {
  return level === 'exact' ? 'exact' : `within ${ulp} ulp`;
}

function remarksOn({ backend, adapter, unavailable, determinism }: DeviceEntry, verbose: boolean): string[] {
  const name = adapter === undefined ? backend : `${backend} (${adapter})`;
  const reasons = verbose || determinism?.level === 'within-ulp' ? (determinism?.reasons ?? []) : [];
  const remarks = [...(unavailable === undefined ? [] : [unavailable]), ...reasons];
  return remarks.map((remark) => `${name}: ${remark}`);
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

function bytes(value: number | undefined): string {
  // WebGPU does not reveal the size of the memory.
  if (value === undefined || value >= Number.MAX_SAFE_INTEGER) return '–';
  let scaled = value;
  let unit = 0;
  for (; scaled >= 1024 && unit < BYTE_UNITS.length - 1; unit++) scaled /= 1024;
  return `${Number(scaled.toFixed(1))} ${BYTE_UNITS[unit]}`;
}

function amount(value: number | undefined): string {
  return value === undefined || !Number.isFinite(value) ? '–' : value.toLocaleString('en-US');
}
