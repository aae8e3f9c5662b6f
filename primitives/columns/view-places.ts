import type { ErrorPlace } from '../errors.ts';
import { callerPlace } from '../functors/place.ts';

let watchers = 0;

/**
 * The current line of the caller's code while places are watched, otherwise undefined: finding the line takes longer
 * than building a view.
 */
export function viewPlace(): ErrorPlace | undefined {
  return watchers === 0 ? undefined : callerPlace();
}

/** Records the places of all views made from now on; returns a function that stops this. */
export function watchPlaces(): () => void {
  watchers++;
  return () => {
    watchers--;
  };
}
