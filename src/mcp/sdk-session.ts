import { setTimeout as wait } from 'node:timers/promises';
import type { Client, StandardSchemaV1, Transport } from '@modelcontextprotocol/client';
import { type CallOptions, type ServedCall, type ServedTool, ToolCallError } from '../core/tool-servers.ts';
import type { ServerConfig } from './config.ts';
import { answeringCutStreams } from './cut-streams.ts';
import type { Guard } from './guard.ts';
import { LastLines } from './last-lines.ts';
import { limitedFetch } from './limited-fetch.ts';
import { lossOf } from './loss.ts';
import { MessageReader, mostMessageBytes } from './message-reader.ts';
import { type OpenSession, type Session, type SessionEvents, SessionLost } from './session.ts';

export interface SdkParts {
  readonly product: { readonly name: string; readonly version: string };
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Ends a program that outlives its session or this process, however that comes. */
  readonly guard: Guard;
}

/** Connections through the official client library, which is loaded with the first of them. */
export function sdkSessions(parts: SdkParts): OpenSession {
  return async (config, events, signal) =>
    config.type === 'command' ? openCommand(config, events, signal, parts) : openAddress(config, events, signal, parts);
}

async function openCommand(
  config: ServerConfig & { type: 'command' },
  events: SessionEvents,
  signal: AbortSignal,
  { environment, guard, product }: SdkParts,
): Promise<Session> {
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const { command, args, env, folder } = config;
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...harmless(environment), ...env },
    cwd: folder,
    stderr: 'pipe',
  });
  const errors = new LastLines();
  transport.stderr?.on('data', (piece: Buffer) => errors.add(piece.toString('utf8')));
  let pid: number | null = null;
  const start = transport.start.bind(transport);
  transport.start = async () => {
    await start();
    pid = transport.pid;
    if (pid !== null) guard.add(pid);
  };
  // The library closes the transport by itself where the greeting fails; a second call waits for the first, and not for nothing.
  const close = transport.close.bind(transport);
  let closing: Promise<void> | undefined;
  transport.close = () => {
    if (pid !== null && !closing) guard.end(pid);
    closing ??= close();
    return closing;
  };
  let overflow: string | undefined;
  const reader = new MessageReader(() => {
    overflow = `it sent a message of more than ${mostMessageBytes / 2 ** 20} MB`;
    // It has not stopped writing, and nobody reads on: there is nothing to wait for.
    if (pid !== null) end(pid);
  });
  (transport as unknown as { _readBuffer: MessageReader })._readBuffer = reader;
  const written = () => (errors.text === '' ? '' : `; it wrote: ${errors.text}`);
  const gone = {
    ...events,
    lost: (reason: string) => {
      if (pid !== null && !closing) guard.end(pid);
      events.lost((overflow ?? reason) + written());
    },
  };
  try {
    signal.throwIfAborted();
    const session = await greet(transport, gone, signal, product, ended);
    return {
      ...session,
      check: async () => {
        // A program of its own may hold its output open, so that its end is not heard of.
        if (pid !== null && !isRunning(pid)) throw new SessionLost(ended + written());
      },
    };
  } catch (error) {
    throw new Error(`${startReason(error, config)}${written()}`, { cause: error });
  }
}

async function openAddress(
  { url, headers, sse }: ServerConfig & { type: 'address' },
  events: SessionEvents,
  signal: AbortSignal,
  { product }: SdkParts,
): Promise<Session> {
  const { SSEClientTransport, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const named = new Headers(headers);
  if (!named.has('user-agent')) named.set('user-agent', `${product.name}/${product.version}`);
  const options = { requestInit: { headers: named }, fetch: limitedFetch(mostMessageBytes) };
  const older = () => greet(new SSEClientTransport(new URL(url), options), events, signal, product, 'it hung up');
  if (sse) return older();
  try {
    const transport = answeringCutStreams(new StreamableHTTPClientTransport(new URL(url), options));
    const session = await greet(transport, events, signal, product, 'it hung up');
    return {
      ...session,
      close: async () => {
        // It may forget us; one that does not answer is not waited for.
        await Promise.race([transport.terminateSession().catch(() => undefined), wait(farewellMs)]);
        await session.close();
      },
    };
  } catch (error) {
    const { refused, reason } = lossOf(error);
    const failure = new Error(reason, { cause: error });
    if (!refused || signal.aborted) throw failure;
    // A server of the older kind refuses the newer greeting; otherwise that refusal is the better reason.
    return older().catch(() => {
      throw failure;
    });
  }
}

async function greet(
  transport: Transport,
  events: SessionEvents,
  signal: AbortSignal,
  { name, version }: SdkParts['product'],
  closedReason: string,
): Promise<Session> {
  const { Client } = await import('@modelcontextprotocol/client');
  const client = new Client({ name: name.toLowerCase(), version });
  let over = false;
  client.onclose = () => {
    if (!over) events.lost(closedReason);
    over = true;
  };
  client.onerror = () => events.doubted();
  client.setNotificationHandler('notifications/tools/list_changed', () => events.toolsChanged());
  client.setNotificationHandler('notifications/message', ({ params }) => {
    const { level, data } = params;
    if (loudLevels.has(level)) events.said(level, typeof data === 'string' ? data : JSON.stringify(data));
  });
  const close = async (): Promise<void> => {
    over = true;
    await client.close().catch(() => undefined);
  };
  try {
    await client.connect(transport, { signal, timeout: longestMs });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    tools: () => allTools(client, (text) => events.said('warning', text)),
    call: (call, options) => callTool(client, call, options),
    check: async () => {
      await client.ping({ timeout: checkMs }).catch((error: unknown) => {
        const { reason, lost } = lossOf(error);
        if (lost) throw new SessionLost(reason);
      });
    },
    close,
  };
}

/** Below these a server talks to itself. */
const loudLevels: ReadonlySet<string> = new Set(['warning', 'error', 'critical', 'alert', 'emergency']);

const checkMs = 4000;
const farewellMs = 500;
/** Whoever calls keeps the time itself. */
const longestMs = 2 ** 31 - 1;
const mostPages = 64;

/**
 * The tools as their server tells them: nothing that a later version of the protocol adds is lost on the way. Each of them may go
 * into every prompt, so that their number and size are bounded; what is left out is told.
 */
async function allTools(client: Client, warn: (text: string) => void): Promise<readonly ServedTool[]> {
  if (!client.getServerCapabilities()?.tools) return [];
  const tools: ServedTool[] = [];
  let bytes = 0;
  let unusable = 0;
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const reply = await client.request({ method: 'tools/list', params }, asItIs, { timeout: listMs });
    for (const tool of Array.isArray(reply.tools) ? reply.tools : []) {
      if (!isTool(tool)) {
        unusable += 1;
        continue;
      }
      const size = JSON.stringify(tool).length;
      if (size > mostToolBytes) {
        unusable += 1;
        continue;
      }
      bytes += size;
      if (tools.length >= mostTools || bytes > mostListBytes) {
        warn(`its list of tools is too long; only the first ${tools.length} are used`);
        return tools;
      }
      tools.push(tool);
    }
    if (typeof reply.nextCursor !== 'string') {
      if (unusable > 0) warn(`${unusable} of its tools are left out: no usable name, no schema, or too large`);
      return tools;
    }
    cursor = reply.nextCursor;
  }
  throw new Error(`its list of tools has more than ${mostPages} pages`);
}

const listMs = 30_000;
const mostTools = 1000;
const mostToolBytes = 256 * 1024;
const mostListBytes = 2 * 1024 * 1024;

/** Names go into prompts, grammars and lines on the console: nothing in them may be invisible or end a line. */
const usableName = /^(?=.*\S)[^\p{C}\p{Zl}\p{Zp}]{1,128}$/u;

function isTool(value: unknown): value is ServedTool {
  if (!isRecord(value)) return false;
  const { name, description, inputSchema } = value;
  if (typeof name !== 'string' || !usableName.test(name)) return false;
  return isRecord(inputSchema) && (description === undefined || typeof description === 'string');
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function callTool(client: Client, call: ServedCall, { signal, progress }: CallOptions) {
  const params = {
    name: call.name,
    ...(call.arguments === undefined ? {} : { arguments: call.arguments }),
    ...(call.meta === undefined ? {} : { _meta: call.meta }),
  };
  const options = { signal, timeout: longestMs, ...(progress ? { onprogress: progress } : {}) };
  try {
    return await client.request({ method: 'tools/call', params }, asItIs, options);
  } catch (error) {
    signal.throwIfAborted();
    const { code, reason, lost, untouched, data } = lossOf(error);
    if (lost) throw new SessionLost(reason, untouched);
    if (code !== undefined) throw new ToolCallError(code, reason, data);
    throw new Error(reason, { cause: error });
  }
}

/** A schema that takes any object: results are passed on, and not ours to judge. */
const asItIs: StandardSchemaV1<unknown, Record<string, unknown>> = {
  '~standard': {
    version: 1,
    vendor: 'parley',
    validate: (value) =>
      typeof value === 'object' && value !== null
        ? { value: value as Record<string, unknown> }
        : { issues: [{ message: 'it is no object' }] },
  },
};

/** What programs need to find their way, beside what the library hands on (PATH, HOME, …): nothing that could be a secret. */
function harmless(environment: SdkParts['environment']): Record<string, string> {
  const names = ['LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR'];
  return Object.fromEntries(names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])));
}

const ended = 'its program ended';

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function startReason(error: unknown, { command, folder }: ServerConfig & { type: 'command' }): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return `${command} cannot be started in ${folder}: there is no such program or folder`;
  return error instanceof Error ? message : String(error);
}
