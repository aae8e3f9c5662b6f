import { aNumber, anArrayOf, aRecord, aText, type Kind, optional } from '../primitives/checks/kinds.ts';
import { listNames } from './quoted-names.ts';

/**
 * Something that a reader accepted but the user should know, such as an unclosed ring, or a nodata value that no cell
 * can have. Notes of the same kind are merged, so a file with a million unclosed rings gives one note.
 */
export interface Note {
  /** Stable code of the form `kind/reason`, such as `zones/unclosed-rings`. */
  readonly code: string;
  /** One sentence for the user. If it concerns many names, it lists the first few. */
  readonly message: string;
  /** Name of the first zone that the note concerns. */
  readonly zone?: string;
  /** Number of rings, zones or blocks that the note concerns. */
  readonly count?: number;
}

export const someNotes: Kind = anArrayOf(
  aRecord<Note>({ code: aText, message: aText, zone: optional(aText), count: optional(aNumber) }),
);

/** Counts occurrences by code, and keeps the first few names for each code. */
export interface NoteTally {
  /** Counts one more occurrence of `code`, in the zone named `zone`. */
  add(code: string, zone: string): void;
  /**
   * One note per code, in order of first occurrence. For each code, `sentences` has a function that turns a count into
   * the first words of the message. The names of zones follow these words.
   */
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
