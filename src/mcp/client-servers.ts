import { unlessAborted } from '../core/abort.ts';
import { AppError } from '../core/errors.ts';
import type { ToolServers } from '../core/tool-servers.ts';
import type { ServerConfig } from './config.ts';
import { type ConnectionDeps, ToolServerConnection } from './connection.ts';

/** How long a request waits for a server that it names. */
const connectMs = 10_000;
/** Of all requests together. */
const maxConnections = 32;

/** The addresses of `--mcpallow`: each allows its origin, at its path and below. */
export class AllowedUrls {
  readonly #entries: readonly URL[];

  constructor(entries: readonly string[]) {
    this.#entries = entries.map((entry) => new URL(entry));
  }

  /** Paths with encoded slashes are refused: servers differ in how they read them. */
  has(target: string | URL): boolean {
    if (!URL.canParse(String(target))) return false;
    const { origin, pathname, username, password } = new URL(target);
    if (username !== '' || password !== '' || /%(?:2f|5c)/i.test(pathname)) return false;
    return this.#entries.some((entry) => {
      const below = entry.pathname.endsWith('/') ? entry.pathname : `${entry.pathname}/`;
      return entry.origin === origin && (pathname === entry.pathname || pathname.startsWith(below));
    });
  }
}

/** MCP servers that a request names itself, if `--mcpallow` has their address. Each request has connections of its own. */
export function clientServers(allowed: AllowedUrls, deps: Omit<ConnectionDeps, 'changed' | 'log'>) {
  let count = 0;
  return (url: string, headers: Readonly<Record<string, string>> = {}): ToolServers | undefined => {
    if (!allowed.has(url)) return undefined;
    // The name is for sentences.
    const config: ServerConfig = { type: 'address', name: new URL(url).host, url, headers, sse: false, ofClient: true };
    let connection: ToolServerConnection | undefined;
    const opened = (): ToolServerConnection => {
      if (connection) return connection;
      if (count >= maxConnections) throw new AppError('busy', { retryAfterSeconds: connectMs / 1000 });
      count += 1;
      connection = new ToolServerConnection(config, { ...deps, changed: () => undefined, log: () => undefined });
      connection.start();
      return connection;
    };
    return {
      async list(signal) {
        const one = opened();
        const late = new AbortController();
        const timer = deps.startTimer(connectMs, () => late.abort());
        try {
          await unlessAborted(one.firstAttempt, signal ? AbortSignal.any([signal, late.signal]) : late.signal);
        } catch (error) {
          signal?.throwIfAborted();
          if (!late.signal.aborted) throw error;
          throw new Error(`it did not answer within ${connectMs / 1000} s`, { cause: error });
        } finally {
          timer.cancel();
        }
        if (one.state !== 'connected') throw new Error(one.failure);
        return one.tools;
      },
      call: (call, options) => opened().call(call, options),
      async close() {
        const open = connection;
        connection = undefined;
        await open?.close();
        if (open) count -= 1;
      },
    };
  };
}
