import { unlessAborted } from '../core/abort.ts';
import { hideSecrets } from '../core/hide-secrets.ts';
import { isObject } from '../core/json.ts';
import { type Deferred, deferred } from '../core/synchronization.ts';
import type { StartTimeout, Timer } from '../core/timers.ts';
import {
  type CallOptions,
  type ServedCall,
  type ServedResult,
  type ServedTool,
  ToolCallError,
  type ToolServerStatus,
  toolCallCodes,
} from '../core/tool-servers.ts';
import { type ServerConfig, secretsOf } from './config.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface ConnectionDeps {
  readonly open: OpenSession;
  readonly startTimer: StartTimeout;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Time-out of a call; each progress notification restarts it. */
  readonly callMs: number;
  readonly log: (line: string) => void;
  /** The tools that are known have changed. */
  readonly changed: () => void;
}

/** Time-out of the MCP handshake: commands such as npx may download their package first. */
const handshakeMs = 60_000;
/** How long a call waits for a server that is reconnecting. */
const reconnectWaitMs = 5000;
/** Interval of health checks, with and without running calls. */
const busyCheckMs = 1500;
const idleCheckMs = 10_000;
/** A session that lasted this long resets the backoff. */
const steadyMs = 5000;
/** Bounds of the pause between two `tools/list` of a server that keeps reporting changes. */
const minRefreshMs = 1000;
const maxRefreshMs = 30_000;
/** The longest call, in time-outs, whatever progress it reports. */
const maxTimeouts = 10;

/**
 * Connection to one MCP server: connects in the background, checks its health, and reconnects with exponential backoff. When
 * the session is lost, running calls fail at once; the tools stay listed, and new calls wait briefly for the reconnect.
 */
export class ToolServerConnection {
  readonly #tried = deferred<void>();
  #session: Session | undefined;
  #tools: readonly ServedTool[] = [];
  #readyAt = 0;
  #failures = 0;
  #failure = 'it is not connected yet';
  #secrets: readonly string[] | undefined;
  #closed = false;
  #timer: Pick<Timer, 'cancel'> | undefined;
  #connecting: Promise<void> | undefined;
  /** Sessions being closed and cancelled attempts: their processes may still run. */
  readonly #ending = new Set<Promise<void>>();
  #checking = false;
  /** `tools/list` is running, or its pause is not over. */
  #refreshing = false;
  #refreshMs = minRefreshMs;
  #refreshTimer: Pick<Timer, 'cancel'> | undefined;
  #isStale = false;
  readonly #closing = new AbortController();
  readonly #running = new Set<(error: SessionLost) => void>();
  readonly #waiting = new Set<Deferred<Session>>();

  constructor(
    readonly config: ServerConfig,
    private readonly deps: ConnectionDeps,
  ) {}

  /** Resolves after the first attempt to connect, successful or not. */
  get firstAttempt(): Promise<void> {
    return this.#tried.promise;
  }

  get name(): string {
    return this.config.name;
  }

  get state(): ToolServerStatus['state'] {
    if (this.#session) return 'connected';
    return this.#failures === 0 ? 'connecting' : 'failed';
  }

  /** Why it is not connected. */
  get failure(): string {
    return this.#failure;
  }

  /** Whether the present session has resources or prompts. */
  offers(what: 'resources' | 'prompts'): boolean {
    return this.#session?.offers(what) ?? false;
  }

  /** The last known tools, also while disconnected. */
  get tools(): readonly ServedTool[] {
    return this.#tools;
  }

  start(): void {
    this.#log(`Connecting to MCP Server ${this.name}...`);
    this.#connecting = this.#connect();
  }

  async call(call: ServedCall, options: CallOptions): Promise<ServedResult> {
    for (let isRetry = false; ; isRetry = true) {
      const session = await this.#currentSession(options.signal);
      try {
        return await this.#run(session, call, options);
      } catch (error) {
        // The server did not know the session and has not run the call: retry once on the next session.
        if (isRetry || !(error instanceof SessionLost && error.unprocessed)) throw this.#reported(error, call.name);
      }
    }
  }

  /** Any request but a tool call, on the present session or the next one. */
  async request(method: string, params: Fields, signal: AbortSignal): Promise<ServedResult> {
    const session = await this.#currentSession(signal);
    const late = new AbortController();
    const timer = this.deps.startTimer(requestMs, () => late.abort(new Error(`no answer in ${requestMs / 1000} s`)));
    const ended = AbortSignal.any([signal, late.signal]);
    try {
      return await unlessAborted(session.request(method, params, ended), ended);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SessionLost) this.#lost(session, error.message);
      if (error instanceof ToolCallError) throw this.#withoutSecrets(error);
      const reason = late.signal.aborted ? (late.signal.reason as Error) : error;
      const sentence = `The tool server ${this.name} could not answer: ${(reason as Error).message}.`;
      throw new ToolCallError(toolCallCodes.unavailable, this.#redacted(sentence));
    } finally {
      timer.cancel();
    }
  }

  /** A list of the server with all its pages, bounded in number and size. */
  async entries(method: string, key: string, signal: AbortSignal): Promise<readonly Fields[]> {
    const all: Fields[] = [];
    let bytes = 0;
    for await (const { entries } of listPages(key, (params) => this.request(method, params, signal))) {
      for (const entry of entries.filter(isObject)) {
        bytes += JSON.stringify(entry).length;
        if (all.length >= maxEntries || bytes > maxListBytes) return all;
        all.push(entry);
      }
    }
    return all;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#timer?.cancel();
    this.#stopRefreshing();
    this.#closing.abort();
    for (const { reject } of this.#waiting) reject(this.#unavailable());
    const session = this.#session;
    this.#session = undefined;
    this.#tried.resolve();
    this.#failRunning(new SessionLost('this server ends'));
    if (session) this.#end(session.close());
    await this.#connecting;
    await Promise.all(this.#ending);
  }

  #end(ending: Promise<void>): void {
    this.#ending.add(ending);
    void ending.finally(() => this.#ending.delete(ending));
  }

  async #connect(): Promise<void> {
    const timeout = new AbortController();
    const timer = this.deps.startTimer(handshakeMs, () =>
      timeout.abort(new Error(`it did not answer within ${handshakeMs / 1000} s`)),
    );
    const signal = AbortSignal.any([timeout.signal, this.#closing.signal]);
    let opened: Session | undefined;
    let over: string | undefined;
    const events: SessionEvents = {
      lost: (reason) => {
        over = reason;
        if (opened) this.#lost(opened, reason);
      },
      toolsChanged: () => {
        if (opened && this.#session === opened) void this.#refresh(opened);
        else if (opened && !this.#session) this.#isStale = true;
      },
      transportFailed: () => {
        if (opened) void this.#check(opened);
      },
      log: (level, text) => this.#log(`MCP Server ${this.name} (${level}): ${text}`),
    };
    const opening = this.deps.open(this.config, events, signal);
    try {
      opened = await unlessAborted(opening, signal);
      const tools = await unlessAborted(opened.tools(), signal);
      if (over !== undefined) throw new Error(over);
      this.#ready(opened, tools);
    } catch (error) {
      // Also closes a session that opens after the time-out.
      this.#end(opening.then((late) => late.close()).catch(() => undefined));
      this.#failed(error instanceof Error ? error.message : String(error));
    } finally {
      timer.cancel();
      this.#tried.resolve();
    }
  }

  #ready(session: Session, tools: readonly ServedTool[]): void {
    if (this.#closed) {
      this.#end(session.close());
      return;
    }
    this.#session = session;
    this.#readyAt = this.deps.now();
    this.#log(`MCP Server ${this.name}: ${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}.`);
    this.#setTools(tools);
    this.#watch();
    for (const { resolve } of this.#waiting) resolve(session);
    // The list changed while it was read first.
    if (this.#isStale) void this.#refresh(session);
  }

  /** An attempt failed. The same reason is logged once. */
  #failed(raw: string): void {
    if (this.#closed) return;
    const reason = this.#redacted(raw);
    if (reason !== this.#failure) this.#log(`MCP Init Error: ${this.name}: ${reason}. It is tried again.`);
    this.#failure = reason;
    this.#scheduleReconnect();
  }

  #lost(session: Session, raw: string): void {
    if (this.#session !== session) return;
    const reason = this.#redacted(raw);
    this.#session = undefined;
    this.#stopRefreshing();
    this.#failure = reason;
    if (this.deps.now() - this.#readyAt >= steadyMs) this.#failures = 0;
    this.#log(`MCP Server ${this.name} is lost: ${reason}. It is connected again.`);
    this.#failRunning(new SessionLost(reason));
    this.#end(session.close());
    this.#scheduleReconnect();
  }

  #scheduleReconnect(): void {
    this.#failures += 1;
    this.#timer?.cancel();
    this.#timer = this.deps.startTimer(backoffMs(this.#failures), () => {
      this.#connecting = this.#connect();
    });
  }

  #failRunning(error: SessionLost): void {
    for (const fail of [...this.#running]) fail(error);
  }

  /** The current session, or the next one if it opens within `reconnectWaitMs`. */
  async #currentSession(signal: AbortSignal): Promise<Session> {
    if (this.#session) return this.#session;
    if (this.#closed) throw this.#unavailable();
    const next = deferred<Session>();
    this.#waiting.add(next);
    const timer = this.deps.startTimer(reconnectWaitMs, () => next.reject(this.#unavailable()));
    try {
      return await unlessAborted(next.promise, signal);
    } finally {
      timer.cancel();
      this.#waiting.delete(next);
    }
  }

  /** Ends with the result, an abort, the loss of the session or the time-out, whichever is first. */
  async #run(session: Session, call: ServedCall, { signal, progress }: CallOptions): Promise<ServedResult> {
    const stop = new AbortController();
    const { callMs, startTimer, now } = this.deps;
    const begunAt = now();
    const failure = deferred<never>();
    const late = (): void => {
      const limit = `within ${Math.round((now() - begunAt) / 1000)} s (--mcptimeout)`;
      const sentence = `Request timed out: the tool ${call.name} of ${this.name} gave no result ${limit}.`;
      failure.reject(new ToolCallError(toolCallCodes.timedOut, sentence));
    };
    let timer = startTimer(callMs, late);
    this.#running.add(failure.reject);
    this.#watch();
    const work = session.call(call, {
      signal: AbortSignal.any([signal, stop.signal]),
      progress: (step) => {
        timer.cancel();
        timer = startTimer(Math.min(callMs, callMs * maxTimeouts - (now() - begunAt)), late);
        progress?.(step);
      },
    });
    try {
      return await unlessAborted(Promise.race([work, failure.promise]), signal);
    } catch (error) {
      if (error instanceof SessionLost) this.#lost(session, error.message);
      throw error;
    } finally {
      timer.cancel();
      this.#running.delete(failure.reject);
      // The result is no longer needed.
      stop.abort();
      work.catch(() => undefined);
      failure.promise.catch(() => undefined);
    }
  }

  /** The error of a call for its caller. */
  #reported(error: unknown, tool: string): unknown {
    if (error instanceof ToolCallError) return this.#withoutSecrets(error);
    const reason = this.#redacted(error instanceof Error ? error.message : String(error));
    if (error instanceof SessionLost) {
      const sentence = `The tool server ${this.name} was lost in the middle of this call (${reason}); it is connected again.`;
      return new ToolCallError(toolCallCodes.unavailable, sentence);
    }
    if (error instanceof Error && error.name === 'AbortError') return error;
    const sentence = `The tool ${tool} of ${this.name} could not be called: ${reason}`;
    return new ToolCallError(toolCallCodes.unavailable, sentence);
  }

  /** Servers may repeat what was sent to them, and programs their environment. */
  #redacted(text: string): string {
    this.#secrets ??= secretsOf(this.config);
    return hideSecrets(text, this.#secrets);
  }

  #log(line: string): void {
    this.deps.log(this.#redacted(line));
  }

  #withoutSecrets(error: ToolCallError): ToolCallError {
    const { code, message, data } = error;
    const all = JSON.stringify([message, data]);
    return this.#redacted(all) === all ? error : new ToolCallError(code, this.#redacted(message));
  }

  #unavailable(): ToolCallError {
    const sentence = `The tool server ${this.name} is not there: ${this.#failure}. Please try again later.`;
    return new ToolCallError(toolCallCodes.unavailable, sentence);
  }

  #watch(): void {
    const session = this.#session;
    if (!session) return;
    this.#timer?.cancel();
    const pause = this.#running.size > 0 ? busyCheckMs : idleCheckMs;
    this.#timer = this.deps.startTimer(pause, () => void this.#check(session));
  }

  async #check(session: Session): Promise<void> {
    if (this.#checking || this.#session !== session) return;
    this.#checking = true;
    try {
      await session.check();
    } catch (error) {
      if (error instanceof SessionLost) this.#lost(session, error.message);
    } finally {
      this.#checking = false;
    }
    this.#watch();
  }

  /**
   * Reads the tools again: at once the first time, and then after a pause, which grows for as long as the server reports changes
   * before it is over. A change that is reported meanwhile is read after the pause, so that the last list counts.
   */
  async #refresh(session: Session): Promise<void> {
    this.#isStale = true;
    if (this.#refreshing) return;
    this.#refreshing = true;
    this.#isStale = false;
    try {
      const tools = await session.tools();
      if (this.#session === session) this.#setTools(tools);
    } catch (error) {
      this.#log(`The tools of the MCP Server ${this.name} could not be read again: ${(error as Error).message}.`);
    }
    if (this.#session !== session) return;
    this.#refreshTimer = this.deps.startTimer(this.#refreshMs, () => this.#refreshAgain(session));
  }

  #stopRefreshing(): void {
    this.#refreshTimer?.cancel();
    this.#refreshing = false;
    this.#isStale = false;
  }

  #refreshAgain(session: Session): void {
    this.#refreshing = false;
    this.#refreshMs = this.#isStale ? Math.min(maxRefreshMs, this.#refreshMs * 2) : minRefreshMs;
    if (this.#isStale) void this.#refresh(session);
  }

  #setTools(tools: readonly ServedTool[]): void {
    this.#tools = tools;
    this.deps.changed();
  }
}

/** Time-out of lists, resources and prompts. */
const requestMs = 30_000;
export const maxPages = 64;
const maxEntries = 1000;
const maxListBytes = 2 * 1024 * 1024;

/** The pages of a list, up to their largest number; `request` gets the parameters of one. */
export async function* listPages(key: string, request: (params: Fields) => Promise<Fields>) {
  let params: Fields = {};
  for (let page = 0; page < maxPages; page += 1) {
    const { [key]: entries, nextCursor: cursor } = await request(params);
    const isLast = typeof cursor !== 'string';
    yield { entries: (Array.isArray(entries) ? entries : []) as readonly unknown[], isLast };
    if (isLast) return;
    params = { cursor };
  }
}

/** Longest backoff: a server that is back is found within 15 s. */
const maxBackoffMs = 8000;

/** Exponential backoff after this many consecutive failures. */
export function backoffMs(failures: number): number {
  return Math.min(maxBackoffMs, 250 * 2 ** Math.max(0, failures - 1));
}

/** One session of an MCP server, from its handshake until it is lost or closed. */
export interface Session {
  tools(): Promise<readonly ServedTool[]>;
  /** Rejects with the `ToolCallError` of the server, or with any other error. */
  call(call: ServedCall, options: CallOptions): Promise<ServedResult>;
  offers(what: 'resources' | 'prompts'): boolean;
  /** Rejects as `call` does. */
  request(method: string, params: Fields, signal: AbortSignal): Promise<ServedResult>;
  /** Rejects with `SessionLost` if the server is gone, not if it is slow. */
  check(): Promise<void>;
  /** Bounded in time; never rejects. */
  close(): Promise<void>;
}

export interface SessionEvents {
  /** The session ended, and was not closed by us. */
  lost(reason: string): void;
  toolsChanged(): void;
  /** A transport error, after which the session is checked. */
  transportFailed(): void;
  /** A log message of the server. */
  log(level: string, text: string): void;
}

/** Connects and performs the handshake. */
export type OpenSession = (config: ServerConfig, events: SessionEvents, signal: AbortSignal) => Promise<Session>;

/** The server is gone, or no longer knows this session. */
export class SessionLost extends Error {
  override readonly name = 'SessionLost';

  constructor(
    reason: string,
    /** The request was not processed and can be sent again. */
    readonly unprocessed = false,
  ) {
    super(reason);
  }
}
