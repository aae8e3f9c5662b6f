import { Column, Memory } from './column.ts';

/** All columns anywhere inside a value: in records, arrays, maps and sets. */
export function columnsIn(value: unknown): Column[] {
  return partsIn(value).filter((part) => part instanceof Column);
}

/** All memory that the columns and lengths anywhere inside a value hold, capture or are counted by. */
export function memoriesIn(value: unknown): Memory[] {
  return partsIn(value).flatMap((part) => (part instanceof Column ? memoriesOf(part) : [part]));
}

function partsIn(value: unknown): (Column | Memory)[] {
  const parts: (Column | Memory)[] = [];
  collectParts(value, new Set(), parts);
  return parts;
}

function collectParts(value: unknown, seen: Set<unknown>, parts: (Column | Memory)[]): void {
  if (typeof value !== 'object' || value === null || seen.has(value) || ArrayBuffer.isView(value)) return;
  seen.add(value);
  if (value instanceof Column || value instanceof Memory) {
    parts.push(value);
    return;
  }
  const inside = value instanceof Map || value instanceof Set ? value.values() : Object.values(value);
  for (const part of inside) collectParts(part, seen, parts);
}

function memoriesOf({ source, length }: Column): Memory[] {
  const counts = typeof length === 'number' ? [] : [length.memory];
  if (source.kind === 'stored') return [source.memory, ...counts];
  const captured = [...source.view.arrays.values()].flatMap((array) =>
    typeof array.length === 'number' ? [array.memory] : [array.memory, array.length.memory],
  );
  return [...captured, ...source.view.owned, ...counts];
}
