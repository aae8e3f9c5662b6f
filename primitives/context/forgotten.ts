import type { ErrorPlace } from '../checks/errors.ts';
import { type OnWarning, QuadrilleWarning, warn } from '../checks/warnings.ts';
import type { Allocation } from '../columns/column.ts';
import { callerPlace, isOfLibrary } from '../functors/place.ts';
import { isDevelopment } from '../host/development.ts';

/** Tells the developer of columns that were garbage-collected without having been disposed of. */
export interface ForgottenNotes {
  /** Notes which line of the caller's code makes an allocation, for some allocations. */
  note(allocation: Allocation): void;
  /** Tells that the memory of an allocation was collected, once for each place. */
  tell(allocation: Allocation): void;
}

/**
 * Number of allocations in a row whose places are noted, at the start and again whenever an allocation without a place
 * was collected. Finding a place takes as long as a small command, so not every allocation gets one.
 */
const NOTED = 64;
/** Maximum number of places that are told. */
const MAX_TOLD = 64;

/** The place of allocations that are made by the library's own algorithms, for its own use. */
const library: ErrorPlace = {};
const unknown: ErrorPlace = {};
const told = new Set<string>();

/** Undefined unless the program is being developed. */
export function createForgottenNotes(onWarning: OnWarning | undefined): ForgottenNotes | undefined {
  if (!isDevelopment()) return undefined;
  let left = NOTED;
  return {
    note(allocation) {
      if (left === 0) return;
      left--;
      const place = callerPlace() ?? unknown;
      allocation.place = isOfLibrary(place) ? library : place;
    },
    tell({ place }) {
      if (place === library || told.size === MAX_TOLD) return;
      if (place === undefined) {
        left = NOTED;
        return;
      }
      const key = `${place.file}:${place.line}:${place.column}`;
      if (told.has(key)) return;
      told.add(key);
      warn(forgotten(place), onWarning);
    },
  };
}

function forgotten(place: ErrorPlace): QuadrilleWarning {
  const sentence = 'A column made here was garbage-collected, because nobody had disposed of it.';
  return new QuadrilleWarning('column/forgotten', sentence, {
    place,
    remedy:
      'Dispose of it after its last use, or make it in context.scope(…): memory may run short long before garbage is collected.',
  });
}
