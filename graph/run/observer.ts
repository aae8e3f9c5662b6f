import type { Subscriber } from 'rxjs';
import type { GraphError } from '../../primitives/errors.ts';
import { aFunction, aRecord, type Kind } from '../../primitives/kinds.ts';
import { type OnWarning, tell } from '../../primitives/warnings.ts';
import type { OccupancySample, TraceMark, WorkSpan } from '../definition/shape.ts';
import type { Parcel } from './parcel.ts';
import type { Passage } from './passage.ts';

/**
 * Receives the events of a run as they happen. It is the option `observer` of `stage()` and of a graph's `run()`. Its
 * methods are called synchronously and often. A method that throws causes a warning and is not called again.
 */
export interface GraphObserver {
  /** Called when an item has left a node's function. Every attempt is a span of its own. */
  span(span: WorkSpan): void;
  /** Called when the contents of an edge have changed. */
  occupancy(sample: OccupancySample): void;
  /** Called for a migration, a retry or an error. */
  mark(mark: TraceMark): void;
}

export const anObserver: Kind = aRecord<GraphObserver>({ span: aFunction, occupancy: aFunction, mark: aFunction });

/** What the run of a graph provides to stages in its pipes. */
export interface Surroundings {
  readonly observer: GraphObserver | undefined;
  /** Recognises the pipe's items, so that stages pass on their parcels. */
  readonly passage: Passage;
  readonly warn: OnWarning | undefined;
  /** Called when work on an item begins or ends. While work is in progress, the run is not stalled. */
  began(): void;
  ended(): void;
  /** Called when an item has failed for good and the stage continues without it. */
  passedOver(error: GraphError, parcel: Parcel): void;
  /** Adds the item's name to the error that ends the stream. */
  named(error: GraphError, parcel: Parcel): GraphError;
}

/** Wraps an observer so that its failures do not reach the observed work. */
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

/** The key under which the last subscriber of a pipe carries its {@link Surroundings}. */
export const SURROUNDINGS: unique symbol = Symbol('quadrille.surroundings');

interface Link {
  readonly [SURROUNDINGS]?: Surroundings;
  readonly destination?: Link | null;
}

/** The run that `subscriber` is part of, found along `destination` as in `demandOf`; `undefined` outside a graph. */
export function surroundingsOf(subscriber: Subscriber<never>): Surroundings | undefined {
  let link = subscriber as unknown as Link | null | undefined;
  while (link) {
    if (link[SURROUNDINGS] !== undefined) return link[SURROUNDINGS];
    link = link.destination;
  }
  return undefined;
}
