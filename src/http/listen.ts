import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Resolves with the port, or rejects with one sentence that a person can act upon. */
export function listenOn(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => reject(explain(error, host, port));
    server.once('error', failed);
    server.listen({ host, port }, () => {
      server.off('error', failed);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** A machine without IPv6 has no `::1`; that is no failure. */
export function isAddressMissing(error: unknown): boolean {
  const code = (error as { cause?: NodeJS.ErrnoException }).cause?.code;
  return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT';
}

const sentences: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (host, port) =>
    `Port ${port} on ${host} is taken by another program. Stop that one, or choose another port with --port.`,
  EACCES: (_, port) => `This user may not open port ${port}. Choose one above 1023 with --port.`,
  EADDRNOTAVAIL: (host) => `This machine has no address ${host}. Check --host.`,
  ENOTFOUND: (host) => `The name ${host} leads to no address. Check --host.`,
};

function explain(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const sentence = sentences[error.code ?? '']?.(host, port);
  return new Error(sentence ?? `The server cannot listen on ${host}, port ${port}: ${error.message}.`, {
    cause: error,
  });
}
