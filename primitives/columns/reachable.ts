import { Column, Memory } from './column.ts';

/** All columns anywhere inside a value: in records, arrays, maps and sets. */
export function columnsIn(value: unknown): Column[] {
  return partsIn(value, new Set()).filter((part) => part instanceof Column);
}

/** All memory that the columns and lengths anywhere inside a value hold, capture or are counted by. */
export function memoriesIn(value: unknown): Memory[] {
  return partsIn(value, new Set()).flatMap((part) => (part instanceof Column ? memoriesOf(part) : [part]));
}

function partsIn(value: unknown, seen: Set<unknown>): (Column | Memory)[] {
  if (typeof value !== 'object' || value === null || seen.has(value) || ArrayBuffer.isView(value)) return [];
  seen.add(value);
  if (value instanceof Column || value instanceof Memory) return [value];
  const parts = value instanceof Map || value instanceof Set ? [...value.values()] : Object.values(value);
  return parts.flatMap((part) => partsIn(part, seen));
}

function memoriesOf({ source, length }: Column): Memory[] {
  const counts = typeof length === 'number' ? [] : [length.memory];
  if (source.kind === 'stored') return [source.memory, ...counts];
  const captured = [...source.view.arrays.values()].flatMap((array) =>
    typeof array.length === 'number' ? [array.memory] : [array.memory, array.length.memory],
  );
  return [...captured, ...source.view.owned, ...counts];
}
