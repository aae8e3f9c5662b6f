import type { ErrorPlace } from '../errors.ts';
import { callerPlace } from '../functors/place.ts';

let watchers = 0;

/**
 * The current line of the caller's code, or undefined if places are not being watched. Finding the line takes longer
 * than making a view, so it is found only on request.
 */
export function viewPlace(): ErrorPlace | undefined {
  return watchers === 0 ? undefined : callerPlace();
}

/**
 * From now on, records for every new view the line of the caller's code that made it. Returns a function that stops
 * this.
 */
export function watchPlaces(): () => void {
  watchers++;
  return () => {
    watchers--;
  };
}
