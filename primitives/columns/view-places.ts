import type { ErrorPlace } from '../checks/errors.ts';
import { callerPlace } from '../functors/place.ts';

let watchers = 0;

/**
 * The line of the caller's code that is being executed. Undefined unless {@link watchPlaces} is active, because finding
 * the line takes longer than making a view.
 */
export function viewPlace(): ErrorPlace | undefined {
  return watchers === 0 ? undefined : callerPlace();
}

/**
 * Starts recording, for every new view, the line of the caller's code that made the view. Returns a function that stops
 * the recording.
 */
export function watchPlaces(): () => void {
  watchers++;
  return () => {
    watchers--;
  };
}
