import { setTimeout as wait } from 'node:timers/promises';
import type { Client, StandardSchemaV1, Transport } from '@modelcontextprotocol/client';
import { isObject } from '../core/json.ts';
import { isAlive } from '../core/processes.ts';
import { type CallOptions, type ServedCall, type ServedTool, ToolCallError } from '../core/tool-servers.ts';
import type { Guard } from '../processes/guard.ts';
import type { ServerConfig } from './config.ts';
import { listPages, maxPages, type OpenSession, type Session, type SessionEvents, SessionLost } from './connection.ts';
import { limitedFetch } from './limited-fetch.ts';
import type { LoginFile } from './logins.ts';
import { MessageReader, maxMessageBytes } from './message-reader.ts';
import { type AddressConfig, loginHint, storedLogin } from './oauth.ts';

interface SdkDeps {
  readonly product: { readonly name: string; readonly version: string };
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Kills a server process that outlives its session or this process. */
  readonly guard: Guard;
  /** Of `parley mcp login`. */
  readonly logins?: LoginFile | undefined;
  readonly fetch?: typeof fetch;
}

/** Sessions of the official MCP client library, which is imported with the first one. */
export function sdkSessions(deps: SdkDeps): OpenSession {
  return async (config, events, signal) =>
    config.type === 'command' ? openCommand(config, events, signal, deps) : openAddress(config, events, signal, deps);
}

async function openCommand(
  config: ServerConfig & { type: 'command' },
  events: SessionEvents,
  signal: AbortSignal,
  { environment, guard, product }: SdkDeps,
): Promise<Session> {
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const { command, args, env, folder } = config;
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...safeVariables(environment), ...env },
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
  // The library closes the transport itself when the handshake fails; a second call returns the same promise.
  const close = transport.close.bind(transport);
  let closing: Promise<void> | undefined;
  transport.close = () => {
    if (pid !== null && !closing) guard.end(pid);
    closing ??= close();
    return closing;
  };
  let overflow: string | undefined;
  const reader = new MessageReader(() => {
    overflow = `it sent a message of more than ${maxMessageBytes / 2 ** 20} MB`;
    // Killed at once: it would block on writing to a pipe that is no longer read.
    if (pid !== null) kill(pid);
  });
  (transport as unknown as { _readBuffer: MessageReader })._readBuffer = reader;
  const outputText = () => (errors.text === '' ? '' : `; it wrote: ${errors.text}`);
  const withOutput = {
    ...events,
    lost: (reason: string) => {
      if (pid !== null && !closing) guard.end(pid);
      events.lost((overflow ?? reason) + outputText());
    },
  };
  try {
    signal.throwIfAborted();
    const session = await connect(transport, withOutput, signal, product, endedReason);
    return {
      ...session,
      check: async () => {
        // A child of the server may hold the pipe open, so that no close event arrives.
        if (pid !== null && !isAlive(pid)) throw new SessionLost(endedReason + outputText());
      },
    };
  } catch (error) {
    throw new Error(`${startReason(error, config)}${outputText()}`, { cause: error });
  }
}

async function openAddress(
  config: AddressConfig,
  events: SessionEvents,
  signal: AbortSignal,
  deps: SdkDeps,
): Promise<Session> {
  const { url, headers, sse } = config;
  const { product } = deps;
  const { SSEClientTransport, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const sentHeaders = new Headers(headers);
  if (!sentHeaders.has('user-agent')) sentHeaders.set('user-agent', `${product.name}/${product.version}`);
  const authProvider = await authorization(config, deps);
  const options = {
    requestInit: { headers: sentHeaders },
    fetch: limitedFetch(maxMessageBytes, deps.fetch),
    ...(authProvider && { authProvider }),
  };
  const openSse = () => connect(new SSEClientTransport(new URL(url), options), events, signal, product, 'it hung up');
  if (sse) return openSse();
  try {
    const transport = failingCutRequests(new StreamableHTTPClientTransport(new URL(url), options));
    const session = await connect(transport, events, signal, product, 'it hung up');
    return {
      ...session,
      close: async () => {
        // Ends the session on the server, without waiting for one that does not answer.
        await Promise.race([transport.terminateSession().catch(() => undefined), wait(terminateMs)]);
        await session.close();
      },
    };
  } catch (error) {
    const { refused, reason } = lossOf(error);
    const failure = new Error(loginReason(error, config) ?? reason, { cause: error });
    if (!refused || signal.aborted) throw failure;
    // A server with the older HTTP+SSE transport rejects the handshake; if that fails too, the first reason is reported.
    return openSse().catch(() => {
      throw failure;
    });
  }
}

async function authorization(config: AddressConfig, { logins, product }: SdkDeps) {
  const { url, oauth = {} } = config;
  const { grant, clientId = '', clientSecret = '', scope, issuer } = oauth;
  if (grant === 'client_credentials') {
    const { ClientCredentialsProvider } = await import('@modelcontextprotocol/client');
    return new ClientCredentialsProvider({
      clientId,
      clientSecret,
      clientName: product.name,
      ...(scope !== undefined && { scope }),
      ...(issuer !== undefined && { expectedIssuer: issuer }),
    });
  }
  if (!logins || !(await logins.latestTokens(url))) return undefined;
  return storedLogin({ config, logins, product: product.name });
}

/** The reason of a failure that a login can remove. */
function loginReason(error: unknown, { name, headers, oauth, ofClient }: AddressConfig): string | undefined {
  const { status, data, code, message } = fields(error);
  const isUnauthorized = (status ?? fields(data).status) === 401 || (error as Error)?.name === 'UnauthorizedError';
  if (oauth?.grant) {
    const isRefused = isUnauthorized || (typeof code === 'string' && code.startsWith('invalid_'));
    return isRefused ? `its login was refused (${message}): check "oauth" in the file` : undefined;
  }
  const hasToken = new Headers(headers).has('authorization');
  if (isUnauthorized && ofClient) {
    return hasToken ? 'it refused the token of the request' : 'it needs a login: send its token with the request';
  }
  return isUnauthorized && !hasToken ? loginHint(name) : undefined;
}

async function connect(
  transport: Transport,
  events: SessionEvents,
  signal: AbortSignal,
  { name, version }: SdkDeps['product'],
  closedReason: string,
): Promise<Session> {
  const { Client } = await import('@modelcontextprotocol/client');
  const client = new Client({ name: name.toLowerCase(), version });
  let over = false;
  client.onclose = () => {
    if (!over) events.lost(closedReason);
    over = true;
  };
  client.onerror = () => events.transportFailed();
  client.setNotificationHandler('notifications/tools/list_changed', () => events.toolsChanged());
  client.setNotificationHandler('notifications/message', ({ params }) => {
    const { level, data } = params;
    if (reportedLevels.has(level)) events.log(level, typeof data === 'string' ? data : JSON.stringify(data));
  });
  const close = async (): Promise<void> => {
    over = true;
    await client.close().catch(() => undefined);
  };
  try {
    await client.connect(transport, { signal, timeout: maxTimeoutMs });
    progressFirst(transport);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    tools: () => allTools(client, (text) => events.log('warning', text)),
    call: (call, options) => callTool(client, call, options),
    offers: (what) => client.getServerCapabilities()?.[what] !== undefined,
    request: (method, params, aborted) => requested(client, { method, params }, { signal: aborted }),
    check: async () => {
      await client.ping({ timeout: checkMs }).catch((error: unknown) => {
        const { reason, lost } = lossOf(error);
        if (lost) throw new SessionLost(reason);
      });
    },
    close,
  };
}

/** Log levels of a server that are shown on the console. */
const reportedLevels: ReadonlySet<string> = new Set(['warning', 'error', 'critical', 'alert', 'emergency']);

const checkMs = 4000;
const terminateMs = 500;
/** The caller has its own time-outs. */
const maxTimeoutMs = 2 ** 31 - 1;

/** The tools as listed, bounded in number and size, since each may go into every prompt. Omitted ones are logged. */
async function allTools(client: Client, warn: (text: string) => void): Promise<readonly ServedTool[]> {
  if (!client.getServerCapabilities()?.tools) return [];
  const tools: ServedTool[] = [];
  let bytes = 0;
  const unusable: string[] = [];
  const request = (params: Readonly<Record<string, unknown>>) =>
    client.request({ method: 'tools/list', params }, anyObject, { timeout: listMs });
  for await (const { entries, isLast } of listPages('tools', request)) {
    for (const tool of entries) {
      const size = isTool(tool) ? JSON.stringify(tool).length : 0;
      if (!isTool(tool) || size > maxToolBytes) {
        unusable.push(unusableText(tool));
        continue;
      }
      bytes += size;
      if (tools.length >= maxTools || bytes > maxListBytes) {
        warn(`its list of tools is too long; only the first ${tools.length} are used`);
        return tools;
      }
      tools.push(tool);
    }
    if (!isLast) continue;
    if (unusable.length > 0) {
      const named = [...unusable.slice(0, namedTools), ...(unusable.length > namedTools ? ['…'] : [])];
      warn(`${unusable.length} of its tools are left out: ${named.join(', ')}`);
    }
    return tools;
  }
  throw new Error(`its list of tools has more than ${maxPages} pages`);
}

const listMs = 30_000;
const maxTools = 1000;
const maxToolBytes = 256 * 1024;
const maxListBytes = 2 * 1024 * 1024;

/** Names go into prompts, grammars and console lines: no control or invisible characters, no line breaks. */
const usableName = /^(?=.*\S)[^\p{C}\p{Zl}\p{Zp}]{1,128}$/u;

function isTool(value: unknown): value is ServedTool {
  if (!isObject(value)) return false;
  const { name, description, inputSchema } = value;
  if (typeof name !== 'string' || !usableName.test(name)) return false;
  return isObject(inputSchema) && (description === undefined || typeof description === 'string');
}

/** Bounds the line about unusable tools. */
const namedTools = 10;

/** The name of an unusable tool, as far as it can be printed, and the reason. */
function unusableText(tool: unknown): string {
  const { name, inputSchema }: Readonly<Record<string, unknown>> = isObject(tool) ? tool : {};
  if (typeof name !== 'string') return 'one without a name';
  const printable = name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
  const label = printable.length > 40 ? `${printable.slice(0, 40)}…` : printable;
  if (!usableName.test(name)) return `"${label}" (not a usable name)`;
  if (!isObject(inputSchema)) return `"${label}" (no schema)`;
  const large = isTool(tool) && JSON.stringify(tool).length > maxToolBytes;
  return `"${label}" (${large ? `larger than ${maxToolBytes / 1024} KB` : 'its description is no text'})`;
}

async function callTool(client: Client, call: ServedCall, { signal, progress }: CallOptions) {
  const params = {
    name: call.name,
    ...(call.arguments === undefined ? {} : { arguments: call.arguments }),
    ...(call.meta === undefined ? {} : { _meta: call.meta }),
  };
  return requested(client, { method: 'tools/call', params }, { signal, ...(progress ? { onprogress: progress } : {}) });
}

interface RequestOptions {
  readonly signal: AbortSignal;
  readonly onprogress?: NonNullable<CallOptions['progress']>;
}

/** A request whose result is passed on as it is. */
async function requested(
  client: Client,
  message: { readonly method: string; readonly params: Record<string, unknown> },
  options: RequestOptions,
) {
  try {
    return await client.request(message, anyObject, { ...options, timeout: maxTimeoutMs });
  } catch (error) {
    options.signal.throwIfAborted();
    const { code, reason, lost, unprocessed, data } = lossOf(error);
    if (lost) throw new SessionLost(reason, unprocessed);
    if (code !== undefined) throw new ToolCallError(code, reason, data);
    throw new Error(reason, { cause: error });
  }
}

/** A schema that accepts any object: results are passed on unchecked. */
const anyObject: StandardSchemaV1<unknown, Record<string, unknown>> = {
  '~standard': {
    version: 1,
    vendor: 'parley',
    validate: (value) => (isObject(value) ? { value } : { issues: [{ message: 'it is no object' }] }),
  },
};

/** Environment of server processes in addition to what the library passes (PATH, HOME, …); nothing that could be a secret. */
function safeVariables(environment: SdkDeps['environment']): Record<string, string> {
  const names = ['LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR'];
  return Object.fromEntries(names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])));
}

const endedReason = 'its program ended';

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

function startReason(error: unknown, { command, folder }: ServerConfig & { type: 'command' }): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return `${command} cannot be started in ${folder}: there is no such program or folder`;
  return error instanceof Error ? message : String(error);
}

/** Handles a response after the notifications before it: the library handles these later, and forgets with the response who waits for progress. */
function progressFirst(transport: Transport): void {
  const handle = transport.onmessage;
  transport.onmessage = (message, extra) => {
    if ('method' in message) handle?.(message, extra);
    else setImmediate(() => handle?.(message, extra));
  };
}

/** Answers a request with an error if its stream ends before the answer: the client library would wait forever. */
function failingCutRequests<Own extends Transport>(transport: Own): Own {
  const open = new Set<unknown>();
  // The library also calls a handler that was set before its own.
  transport.onmessage = (message) => {
    if (!('method' in message)) open.delete(message.id);
  };
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    const id = 'method' in message && 'id' in message ? message.id : undefined;
    if (id === undefined) return send(message, options);
    open.add(id);
    const answerIfOpen = (): void => {
      const error = { code: disconnectedCode, message: 'it hung up before it answered' };
      if (open.delete(id)) transport.onmessage?.({ jsonrpc: '2.0', id, error });
    };
    // After the responses that came before the end.
    const onRequestStreamEnd = (): void => void setImmediate(answerIfOpen);
    try {
      await send(message, { ...options, onRequestStreamEnd });
    } catch (error) {
      open.delete(id);
      throw error;
    }
  };
  return transport;
}

const maxLines = 20;
const maxLineLength = 500;

/** The last lines of the error output of a program, for error messages. */
export class LastLines {
  readonly #lines: string[] = [];
  #rest = '';

  add(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = (lines.pop() ?? '').slice(-maxLineLength);
    for (const line of lines) {
      const trimmed = line.trim();
      if (trimmed !== '') this.#lines.push(trimmed.slice(0, maxLineLength));
    }
    this.#lines.splice(0, this.#lines.length - maxLines);
  }

  /** In one line, the newest at the end. */
  get text(): string {
    const rest = this.#rest.trim();
    return [...this.#lines, ...(rest === '' ? [] : [rest])].slice(-maxLines).join(' | ');
  }
}

/** The code of errors that are created here for a server that can no longer answer. */
export const disconnectedCode = -32_099;

/** What an error of the client library means for the connection. */
interface Loss {
  readonly reason: string;
  /** The JSON-RPC code, if the server answered with an error. */
  readonly code?: number;
  readonly data?: unknown;
  /** The server is gone, or no longer knows the session. */
  readonly lost: boolean;
  /** The request was not processed. */
  readonly unprocessed: boolean;
  /** An HTTP server rejects this transport. */
  readonly refused: boolean;
}

/** By the fields of the error, not by its class, which depends on the part of the library. */
export function lossOf(error: unknown): Loss {
  const { code, status, data, message, cause } = fields(error);
  if (typeof code === 'number') {
    return { reason: message, code, data, lost: code === disconnectedCode, unprocessed: false, refused: false };
  }
  const answered = status ?? fields(data).status;
  if (typeof answered === 'number') {
    return {
      reason: `it answered with HTTP status ${answered}`,
      // 404: unknown session. The others: the server is down.
      lost: answered === 404 || [502, 503, 504].includes(answered),
      unprocessed: answered === 404,
      refused: answered >= 400 && answered < 500,
    };
  }
  const refusedConnection = causeCodes(error).includes('ECONNREFUSED');
  // `fetch` got no response.
  const failed = error instanceof TypeError && /fetch failed|terminated|network/i.test(message);
  const lost = code === 'CONNECTION_CLOSED' || code === 'NOT_CONNECTED' || refusedConnection || failed;
  return { reason: reasonOf(message, cause), lost, unprocessed: refusedConnection, refused: false };
}

interface ErrorFields extends Readonly<Partial<Record<'code' | 'status' | 'data' | 'cause', unknown>>> {
  readonly message: string;
}

function fields(value: unknown): ErrorFields {
  if (typeof value !== 'object' || value === null) return { message: String(value) };
  return { message: '', ...value, ...(value instanceof Error ? { message: value.message, cause: value.cause } : {}) };
}

/** With the cause: `fetch failed` alone says nothing. */
function reasonOf(message: string, cause: unknown): string {
  const behind = cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code ?? '') : '';
  return behind === '' ? message : `${message} (${behind})`;
}

function causeCodes(error: unknown): readonly unknown[] {
  const codes: unknown[] = [];
  let one: unknown = error;
  for (let depth = 0; depth < 5 && typeof one === 'object' && one !== null; depth += 1) {
    codes.push((one as { code?: unknown }).code);
    const { errors, cause } = one as { errors?: unknown; cause?: unknown };
    if (Array.isArray(errors)) codes.push(...errors.map((each: { code?: unknown } | null) => each?.code));
    one = cause;
  }
  return codes;
}
