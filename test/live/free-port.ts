import { createServer } from 'node:net';

let tried = 0;

/**
 * A port that is free at the moment. It is below those that systems give to connections and to servers without a wish, and
 * other processes of tests begin elsewhere, so that none takes it before it is used.
 */
export function freePort(): Promise<number> {
  const port = 10_000 + ((process.pid * 37 + tried++) % 20_000);
  return new Promise((resolve) => {
    const probe = createServer()
      .once('error', () => resolve(freePort()))
      .listen(port, '127.0.0.1', () => probe.close(() => resolve(port)));
  });
}
