import { aNumber, anArrayOf, aRecord, aText, type Kind, optional } from '../primitives/kinds.ts';

/**
 * Something a reader accepted but its user should hear of: an unclosed ring, a nodata value that no cell can have.
 *
 * Notes are gathered a kind at a time, so that a file with a million odd rings yields one note and not a million.
 */
export interface Note {
  /** Stable code, `kind/reason`, such as `zones/unclosed-rings`. */
  readonly code: string;
  /** One sentence for people, with the first few names where there are many. */
  readonly message: string;
  /** Name of the first zone concerned. */
  readonly zone?: string;
  /** How many rings, zones or blocks are concerned. */
  readonly count?: number;
}

export const someNotes: Kind = anArrayOf(
  aRecord<Note>({ code: aText, message: aText, zone: optional(aText), count: optional(aNumber) }),
);

/** Counts occurrences a kind, remembering the first few names. */
export interface NoteTally {
  /** Counts one more occurrence of `code` in the zone called `zone`. */
  add(code: string, zone: string): void;
  /** One note a code, in order of first occurrence; `sentences` turns a count into the words before the names. */
  notes(sentences: Readonly<Record<string, (count: number) => string>>): Note[];
}

const NAMES_SHOWN = 3;

/** Starts an empty tally. */
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

/** Quotes the first `shown` names and says so where there are more. */
export function listNames(names: readonly string[], shown: number): string {
  const listed = names.slice(0, shown).map(quoteName).join(', ');
  return names.length > shown ? `${listed} and others` : listed;
}

const LONGEST_NAME = 60;

/** Quotes a name out of a file for a message, cut short where it is long. */
export function quoteName(name: string): string {
  return JSON.stringify(name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name);
}
