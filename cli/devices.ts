import type { DeviceEntry, DeviceReport } from '../devices.ts';
import type { Determinism } from '../primitives/backend.ts';

/** The report as `quadrille devices` prints it: a table of what there is, then what there is to say about it. */
export function renderDevices({ auto, entries }: DeviceReport): string {
  const rows = entries.map((entry, index) => row(entry, index === auto));
  const remarks = entries.flatMap(remarksOn);
  return `${table([HEADER, ...rows])}\n${remarks.length === 0 ? '' : `\n${remarks.join('\n')}\n`}`;
}

const HEADER = ['backend', 'adapter', 'device', 'f32 results', 'memory', 'binding', 'workgroups', 'buffers'];

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

function remarksOn({ backend, adapter, unavailable, determinism }: DeviceEntry): string[] {
  const name = adapter === undefined ? backend : `${backend} (${adapter})`;
  const remarks = [...(unavailable === undefined ? [] : [unavailable]), ...(determinism?.reasons ?? [])];
  return remarks.map((remark) => `${name}: ${remark}`);
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

function bytes(value: number | undefined): string {
  // WebGPU does not tell how much memory there is.
  if (value === undefined || value >= Number.MAX_SAFE_INTEGER) return '–';
  let scaled = value;
  let unit = 0;
  for (; scaled >= 1024 && unit < BYTE_UNITS.length - 1; unit++) scaled /= 1024;
  return `${Number(scaled.toFixed(1))} ${BYTE_UNITS[unit]}`;
}

function amount(value: number | undefined): string {
  return value === undefined || !Number.isFinite(value) ? '–' : value.toLocaleString('en-US');
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = HEADER.map((_, column) => Math.max(...rows.map((cells) => cells[column]!.length)));
  return rows
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
