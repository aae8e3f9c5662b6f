import type { Subscriber } from 'rxjs';
import type { GraphError } from '../../primitives/checks/errors.ts';
import { aFunction, aRecord, type Kind } from '../../primitives/checks/kinds.ts';
import { type OnWarning, tell } from '../../primitives/checks/warnings.ts';
import type { OccupancySample, TraceMark, WorkSpan } from '../definition/shape.ts';
import type { Parcel } from './parcel.ts';
import type { Passage } from './passage.ts';

/**
 * Receives the events of a run as they happen. Pass it as the option `observer` of `stage()`, or of `run()` of a graph.
 * Its methods are called synchronously and often. If a method throws, the error becomes a warning, and the method is
 * not called again.
 */
export interface GraphObserver {
  /** Called when an attempt to process an item has ended. Each attempt has its own span. */
  span(span: WorkSpan): void;
  /** Called when the number of items or bytes on an edge has changed. */
  occupancy(sample: OccupancySample): void;
  /** Called for events such as a migration, a retry or an error. */
  mark(mark: TraceMark): void;
}

export const anObserver: Kind = aRecord<GraphObserver>({ span: aFunction, occupancy: aFunction, mark: aFunction });

/** The services that the run of a graph offers to stages in its pipes. */
export interface Surroundings {
  readonly observer: GraphObserver | undefined;
  /** Finds the parcel of an item in the pipe, so that a stage can pass the parcel on. */
  readonly passage: Passage;
  readonly warn: OnWarning | undefined;
  /**
   * Must be called when work on an item begins; `ended` must be called when the work ends. In between, the run does not
   * count as stalled.
   */
  began(): void;
  ended(): void;
  /** Must be called when all attempts for an item have failed and the stage continues without the item. */
  passedOver(error: GraphError, parcel: Parcel): void;
  /** Reports an error of an item that ends the stream. Returns the error with the name of the item. */
  named(error: GraphError, parcel: Parcel): GraphError;
}

/** Wraps an observer so that errors of its methods become warnings. */
export function guarded(observer: GraphObserver, onWarning?: OnWarning): GraphObserver {
  const guard = <T>(name: keyof GraphObserver, method: (value: T) => void): ((value: T) => void) => {
    let failed = false;
    const attempt = (value: T): void => {
      try {
        method(value);
      } catch (cause) {
        failed = true;
        throw cause;
      }
    };
    return (value) => {
      if (!failed) tell(`observer.${name}`, attempt, value, onWarning);
    };
  };
  return {
    span: guard('span', (span) => observer.span(span)),
    occupancy: guard('occupancy', (sample) => observer.occupancy(sample)),
    mark: guard('mark', (mark) => observer.mark(mark)),
  };
}

/** The key under which the last subscriber of a pipe stores its {@link Surroundings}. */
export const SURROUNDINGS: unique symbol = Symbol('quadrille.surroundings');

interface Link {
  readonly [SURROUNDINGS]?: Surroundings;
  readonly destination?: Link | null;
}

/**
 * Finds the services of the run to which `subscriber` belongs. Like `demandOf`, follows the `destination` fields of the
 * subscribers. Returns `undefined` outside a graph.
 */
export function surroundingsOf(subscriber: Subscriber<never>): Surroundings | undefined {
  let link = subscriber as unknown as Link | null | undefined;
  while (link) {
    if (link[SURROUNDINGS] !== undefined) return link[SURROUNDINGS];
    link = link.destination;
  }
  return undefined;
}
