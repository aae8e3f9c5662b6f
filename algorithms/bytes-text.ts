const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** A size in readable form, such as `1.5 GiB`. */
export function bytesText(bytes: number): string {
  const unit = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log2(bytes) / 10)));
  return `${Number((bytes / 1024 ** unit).toPrecision(3))} ${UNITS[unit]}`;
}
