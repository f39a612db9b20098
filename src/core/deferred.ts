export type Deferred<Value> = ReturnType<typeof deferred<Value>>;

/** A promise that is settled from outside. */
export function deferred<Value>() {
  let resolve!: (value: Value) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<Value>((...settle) => {
    [resolve, reject] = settle;
  });
  return { promise, resolve, reject };
}
