import { aNumber, anArrayOf, aRecord, aText, type Kind, optional } from '../primitives/kinds.ts';

/**
 * An oddity that a reader accepted but that the user should know: an unclosed ring, or a nodata value that no cell can
 * have.
 *
 * Notes of the same kind are merged, so a file with a million odd rings gives one note.
 */
export interface Note {
  /** Stable code, `kind/reason`, such as `zones/unclosed-rings`. */
  readonly code: string;
  /** One readable sentence, with the first few names if there are many. */
  readonly message: string;
  /** Name of the first zone concerned. */
  readonly zone?: string;
  /** Number of rings, zones or blocks concerned. */
  readonly count?: number;
}

export const someNotes: Kind = anArrayOf(
  aRecord<Note>({ code: aText, message: aText, zone: optional(aText), count: optional(aNumber) }),
);

/** Counts occurrences by code, and keeps the first few names. */
export interface NoteTally {
  /** Counts one more occurrence of `code`, in the zone with this name. */
  add(code: string, zone: string): void;
  /** One note per code, in order of first occurrence. `sentences` makes the words before the names from a count. */
  notes(sentences: Readonly<Record<string, (count: number) => string>>): Note[];
}

const NAMES_SHOWN = 3;

export function noteTally(): NoteTally {
  const kinds = new Map<string, { count: number; readonly zones: string[] }>();
  return {
    add(code, zone) {
      const kind = kinds.get(code) ?? { count: 0, zones: [] };
      kind.count++;
      if (kind.zones.length <= NAMES_SHOWN && kind.zones.at(-1) !== zone) kind.zones.push(zone);
      kinds.set(code, kind);
    },
    notes: (sentences) =>
      [...kinds].map(([code, { count, zones }]) => ({
        code,
        message: `${sentences[code]!(count)}: ${listNames(zones, NAMES_SHOWN)}.`,
        zone: zones[0]!,
        count,
      })),
  };
}

/** Quotes the first `shown` names, and says if there are more. */
export function listNames(names: readonly string[], shown: number): string {
  const listed = names.slice(0, shown).map(quoteName).join(', ');
  return names.length > shown ? `${listed} and others` : listed;
}

const LONGEST_NAME = 60;

/** Quotes a name from a file for a message. Long names are cut. */
export function quoteName(name: string): string {
  return JSON.stringify(name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name);
}
