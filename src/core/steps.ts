/**
 * An iterable over the results of `next`, without a generator around each of them: streamed tokens take this path, and each costs
 * microseconds. `close` is called when the reader stops early.
 */
export function steps<Value>(next: () => Promise<IteratorResult<Value>>, close: () => unknown): AsyncIterable<Value> {
  const end = async (): Promise<IteratorResult<Value>> => {
    await close();
    return { done: true, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
}

/** The same values, with a callback at their end, however they end. */
export function atEnd<Value>(values: AsyncIterable<Value>, ended: () => void): AsyncIterable<Value> {
  const iterator = values[Symbol.asyncIterator]();
  let over = false;
  const end = (): void => {
    if (!over) ended();
    over = true;
  };
  const took = (step: IteratorResult<Value>): IteratorResult<Value> => {
    if (step.done) end();
    return step;
  };
  const failed = (error: unknown): never => {
    end();
    throw error;
  };
  const close = (): unknown => {
    end();
    return iterator.return?.();
  };
  return steps(() => iterator.next().then(took, failed), close);
}
