/**
 * The same values, read to their end whether or not anybody reads them here: whoever makes them is never told that nobody listens.
 * What nobody has read yet is held, so there must be an end to it.
 */
export function readOn<Value>(values: AsyncIterable<Value>): AsyncIterable<Value> {
  const held: Value[] = [];
  let over = false;
  let failure: { readonly reason: unknown } | undefined;
  let wake = () => {};
  let left = false;
  void (async () => {
    try {
      for await (const value of values) {
        if (!left) held.push(value);
        wake();
      }
    } catch (reason) {
      failure = { reason };
    } finally {
      over = true;
      wake();
    }
  })();
  return {
    async *[Symbol.asyncIterator]() {
      try {
        for (;;) {
          while (held.length > 0) yield* held.splice(0);
          if (over) break;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        if (failure) throw failure.reason;
      } finally {
        left = true;
        held.length = 0;
      }
    },
  };
}
