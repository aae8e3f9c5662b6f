import type { ErrorPlace } from '../errors.ts';
import { callerPlace } from '../functors/place.ts';

let watchers = 0;

/**
 * The line of the caller's code that is being executed, while places are watched. Otherwise undefined, as finding a line takes
 * longer than building a view.
 */
export function viewPlace(): ErrorPlace | undefined {
  return watchers === 0 ? undefined : callerPlace();
}

/** Notes the places of all views that are made from now on; returns what ends that. */
export function watchPlaces(): () => void {
  watchers++;
  return () => {
    watchers--;
  };
}
