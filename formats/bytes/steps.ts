/**
 * The steps of a reader of bytes: it yields a promise where it has to wait, say for the next bytes of a file, and undefined
 * where its caller may take what has been read so far. So one reader serves streams and bytes in memory, for which it
 * never waits.
 */
export type Steps<T = void> = Generator<PromiseLike<unknown> | undefined, T, void>;

/** Waits for a value, within the steps of a reader. A value that is there already takes no step. */
export function* wait<T>(given: T | PromiseLike<T>): Steps<T> {
  if (!isPromise(given)) return given;
  let value!: T;
  yield given.then((found) => {
    value = found;
  });
  return value;
}

function isPromise<T>(given: T | PromiseLike<T>): given is PromiseLike<T> {
  return typeof given === 'object' && given !== null && 'then' in given;
}

/** The items of a stream, within the steps of a reader, until `take` returns false. */
export function* eachOf<T>(items: AsyncIterable<T> | Iterable<T>, take: (item: T) => boolean): Steps {
  const iterator = iteratorOf(items);
  try {
    for (;;) {
      const { done, value } = yield* wait(iterator.next());
      if (done === true || !take(value)) return;
    }
  } finally {
    yield* wait(iterator.return?.());
  }
}

export function iteratorOf<T>(items: AsyncIterable<T> | Iterable<T>): AsyncIterator<T> | Iterator<T> {
  return Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
}

/** Takes all steps of a reader, and resolves to its result. */
export async function finished<T>(steps: Steps<T>): Promise<T> {
  let step = steps.next();
  while (step.done !== true) step = step.value === undefined ? steps.next() : await after(step.value, steps);
  return step.value;
}

/** Takes all steps of a reader of bytes in memory, which never waits. */
export function finishedNow<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (step.done !== true) {
    if (step.value !== undefined) throw new Error('A reader of bytes in memory does not wait.');
    step = steps.next();
  }
  return step.value;
}

/** Takes the steps of a reader, and yields whenever something may be taken. */
export async function* taken(steps: Steps): AsyncGenerator<void, void, undefined> {
  try {
    let step = steps.next();
    while (step.done !== true) {
      if (step.value === undefined) {
        yield;
        step = steps.next();
      } else step = await after(step.value, steps);
    }
  } finally {
    // A consumer that stops early lets the reader close what it has opened.
    await finished(ending(steps));
  }
}

/** Takes the steps of a reader, and calls `take` whenever something may be taken. */
export function* taking(steps: Steps, take: () => void): Steps {
  try {
    let step = steps.next();
    while (step.done !== true) {
      if (step.value === undefined) take();
      else {
        try {
          yield step.value;
        } catch (error) {
          step = steps.throw(error);
          continue;
        }
      }
      step = steps.next();
    }
  } finally {
    yield* ending(steps);
  }
}

/** Lets a reader close what it has opened. Has no effect on a reader that has ended. */
function* ending(steps: Steps): Steps {
  let step = steps.return();
  while (step.done !== true) {
    yield step.value;
    step = steps.next();
  }
}

type Step<T> = IteratorResult<PromiseLike<unknown> | undefined, T>;

/** The step after a wait. A reader receives the error of what it waits for. */
async function after<T>(waited: PromiseLike<unknown>, steps: Steps<T>): Promise<Step<T>> {
  try {
    await waited;
  } catch (error) {
    return steps.throw(error);
  }
  return steps.next();
}
