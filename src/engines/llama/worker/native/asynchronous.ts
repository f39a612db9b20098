/** koffi runs `.async` on its own thread and calls back; the event loop stays free. */
export function asynchronous<Signature extends (...parameters: never[]) => unknown>(callable: unknown) {
  const { async: start } = callable as { async(...parameters: unknown[]): void };
  return (...parameters: Parameters<Signature>): Promise<ReturnType<Signature>> =>
    new Promise((resolve, reject) => {
      start(...parameters, (error: Error | null, result: ReturnType<Signature>) =>
        error ? reject(error) : resolve(result),
      );
    });
}
