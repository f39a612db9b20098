import { AppError } from '../../core/errors.ts';
import { Latch } from '../../core/synchronization.ts';
import type { Timer } from '../../core/timers.ts';
import type { Attachments } from './channel.ts';
import type { Child, ChildExit, Spawn } from './child.ts';
import { type EngineState, howItDied, type Loss, Recovery, stopped, troubleOf } from './engine-state.ts';
import { Heartbeat, tickMs } from './heartbeat.ts';
import { type InFlightTask, InFlightTasks, PendingCalls } from './in-flight.ts';

export interface EngineProcessDeps<Outgoing, Incoming, Facts> {
  /** The kind of engine, for error messages: `text`, `speech`, … */
  readonly capability: string;
  readonly spawn: Spawn;
  readonly entry: string;
  readonly startTimer: StartTimer;
  /** The first message to each process: what to load. */
  readonly opening: () => Outgoing;
  /** It is loaded; called before any task begins. */
  readonly loaded: (facts: Facts) => void;
  /** Handles a message other than those about loading, by calling `ended` or a method of `calls`. */
  readonly receive: (message: Incoming, attachments: Attachments) => void;
  /** How long it may take to stop. */
  readonly closingMs: number;
  /** The model was loaded before, so that a failure may be temporary: the process is started again. */
  readonly proven?: boolean;
  /** Whether to start again with other options, without counting a failure. */
  readonly startsOver?: (exit: ChildExit) => boolean;
  /** Why it could not load, if it did not report a reason. */
  readonly loadReason?: (exit: ChildExit) => string;
  readonly observer?: EngineObserver<Facts>;
}

/** The messages of every worker about its loading. */
export type LoadMessage<Facts> =
  | { readonly type: 'progress'; readonly fraction: number }
  | { readonly type: 'loaded'; readonly facts: Facts }
  /** A reason of null: native code has written it to standard error. */
  | { readonly type: 'load-failed'; readonly reason: string | null }
  /** A line for the log; no request fails. */
  | { readonly type: 'note'; readonly text: string };

export type StartTimer = (milliseconds: number, passed: () => void) => Pick<Timer, 'cancel'>;

export interface EngineObserver<Facts> {
  /** A process starts to load, for the first time or again. */
  starting?(): void;
  progress?(fraction: number): void;
  loaded?(facts: Facts): void;
  note?(text: string): void;
  failed?(reason: string): void;
  /** The process has ended and will be started again. */
  lost?(loss: Loss): void;
  line?(line: string): void;
}

/** A process that has not ended this long after SIGKILL is abandoned. */
const maxExitMs = 10_000;

/** An engine as the server sees it: its process, and the messages of its kind. */
export abstract class EngineHost {
  protected abstract readonly process: Pick<EngineProcess<never, never, never>, 'start' | 'stop' | 'pid' | 'settled'>;

  start(): void {
    this.process.start();
  }

  stop(): Promise<void> {
    return this.process.stop();
  }

  get pid(): number | undefined {
    return this.process.pid;
  }

  settled(): Promise<void> {
    return this.process.settled();
  }
}

/** One engine process: started on demand, watched, restarted when it crashes or hangs, and stopped. Every caller gets a result. */
export class EngineProcess<Outgoing, Incoming extends { readonly type: string }, Facts> {
  #state: EngineState = { type: 'idle' };
  #child: Child<Outgoing> | undefined;
  #heartbeat = new Heartbeat();
  #proven: boolean;
  #loadFailure: string | undefined;
  #nextId = 1;
  readonly #settled = new Latch();
  #ticker: ReturnType<StartTimer> | undefined;
  #nextTry: ReturnType<StartTimer> | undefined;
  #stopping: Promise<void> | undefined;
  /** A killed process that has not exited yet. */
  #dying: { readonly child: Child<Outgoing>; readonly exited: () => void } | undefined;
  readonly #recovery = new Recovery();
  /** Calls that the host answers or refuses. */
  readonly calls: PendingCalls;
  readonly #tasks: InFlightTasks;

  constructor(private readonly deps: EngineProcessDeps<Outgoing, Incoming, Facts>) {
    this.#proven = deps.proven ?? false;
    this.calls = new PendingCalls(deps.capability);
    this.#tasks = new InFlightTasks(deps.capability);
  }

  start(): void {
    if (this.#state.type !== 'idle') return;
    this.#spawn();
    this.#tickLater();
  }

  /** For memory figures and tests. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  state(): EngineState {
    if (this.#state.type !== 'starting' && this.#state.type !== 'lost') return this.#state;
    const trouble = this.#recovery.trouble();
    return trouble ? { ...this.#state, trouble } : this.#state;
  }

  /** Resolves when it is ready, or when waiting is pointless. Starts it if it is idle. */
  settled(): Promise<void> {
    this.start();
    return this.#isComing() ? this.#settled.wait() : Promise.resolve();
  }

  send(message: Outgoing, attachments: Attachments = []): void {
    this.#child?.send(message, attachments);
  }

  /** Sends a call and resolves to its answer. Waits for a process that is starting. */
  async call<Answer>(message: (id: number) => Outgoing, attachments: Attachments = []): Promise<Answer> {
    this.start();
    while (this.#isComing()) await this.settled();
    if (this.#state.type !== 'ready') throw this.#down();
    const id = this.#nextId++;
    const answer = this.calls.add<Answer>(id);
    this.send(message(id), attachments);
    return answer;
  }

  /** Starts a task as soon as the engine is ready. It ends with `ended`, `lost` or `withdrawn`. */
  startTask(task: InFlightTask): { abort(): void } {
    this.start();
    const id = this.#nextId++;
    this.#tasks.hold(id, task);
    if (this.#state.type === 'ready') this.#tasks.beginHeld();
    else if (!this.#isComing()) this.#tasks.giveUp(this.#down());
    return { abort: () => this.#tasks.abort(id) };
  }

  ended(id: number): void {
    this.#recovery.sound();
    this.#tasks.ended(id);
    if (this.#state.type === 'ready') this.#tasks.beginHeld();
  }

  /** Rejects all callers at once; the process has `closingMs` to end. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const child = this.#child ?? this.#dying?.child;
    this.#child = undefined;
    this.#state = { type: 'stopping' };
    this.#ticker?.cancel();
    this.#nextTry?.cancel();
    this.#rejectAll();
    await child?.stop(this.deps.closingMs);
    this.#state = { type: 'stopped' };
  }

  #spawn(): void {
    this.#state = { type: 'starting', progress: 0 };
    this.#recovery.loading();
    this.#loadFailure = undefined;
    const heart = new Heartbeat();
    this.#heartbeat = heart;
    const { observer } = this.deps;
    observer?.starting?.();
    const child: Child<Outgoing> = this.deps.spawn<Outgoing, Incoming | LoadMessage<Facts>>(this.deps.entry, {
      message: (message, attachments) => {
        if (this.#child === child) this.#receive(message, attachments);
      },
      exit: (exit) => this.#exited(child, exit),
      pulse: (pulse) => heart.pulse(pulse),
      ...(observer?.line ? { line: observer.line } : {}),
    });
    this.#child = child;
    child.send(this.deps.opening());
  }

  #receive(message: Incoming | LoadMessage<Facts>, attachments: Attachments): void {
    const { observer, loaded, receive } = this.deps;
    if (!isLoadMessage(message)) {
      receive(message, attachments);
      return;
    }
    switch (message.type) {
      case 'progress':
        if (this.#state.type === 'starting') this.#state = { type: 'starting', progress: message.fraction };
        observer?.progress?.(message.fraction);
        return;
      case 'loaded':
        loaded(message.facts);
        observer?.loaded?.(message.facts);
        this.#becameReady();
        return;
      case 'load-failed':
        // The process ends next. Its exit decides, because its last lines may not have arrived yet.
        this.#loadFailure = message.reason ?? undefined;
        return;
      case 'note':
        observer?.note?.(message.text);
    }
  }

  #becameReady(): void {
    if (this.#state.type !== 'starting') return;
    this.#proven = true;
    this.#state = { type: 'ready' };
    this.#recovery.ready();
    this.#settled.release();
    this.#tasks.beginHeld();
  }

  /** Time is counted in ticks, so that it does not pass while the machine sleeps. */
  #tickLater(): void {
    this.#ticker = this.deps.startTimer(tickMs, () => {
      this.#tick();
      if (!this.#stopping) this.#tickLater();
    });
  }

  #tick(): void {
    this.#recovery.tick(this.#state.type);
    const { timeoutMs } = this.#heartbeat;
    this.calls.tick(timeoutMs);
    const stuck = this.#tasks.tick(timeoutMs);
    if (this.#state.type === 'ready') {
      const hung = this.#heartbeat.tick();
      if (stuck || hung) this.#endHung();
    } else if (!this.#isComing()) this.#rejectAll();
  }

  #endHung(): void {
    const child = this.#child as Child<Outgoing>;
    this.#child = undefined;
    this.#crashed(new AppError('engine-silent', { capability: this.deps.capability }));
    this.#state = { type: 'lost' };
    child.kill();
    const timer = this.deps.startTimer(maxExitMs, () => this.#dying?.exited());
    this.#dying = {
      child,
      exited: () => {
        timer.cancel();
        this.#dying = undefined;
        if (!this.#stopping) this.#comeBack('silent', undefined, 'the engine process did not answer any more');
      },
    };
  }

  #exited(child: Child<Outgoing>, exit: ChildExit): void {
    if (this.#dying?.child === child) this.#dying.exited();
    if (this.#child !== child) return;
    this.#child = undefined;
    this.#crashed(new AppError('engine-lost', { capability: this.deps.capability }));
    const loading = this.#state.type === 'starting';
    const { unstarted } = exit;
    if (!unstarted && this.deps.startsOver?.(exit)) {
      this.#spawn();
      return;
    }
    const failure = loading && !unstarted ? (this.#loadFailure ?? this.deps.loadReason?.(exit)) : undefined;
    const reason = failure ?? howItDied(exit);
    if (loading && !this.#proven && !unstarted?.isPassing) this.#fail(reason);
    else this.#comeBack(loading ? 'not-loaded' : 'died', exit, reason);
  }

  #comeBack(type: Loss['type'], exit: ChildExit | undefined, reason: string): void {
    this.#state = { type: 'lost' };
    const nextTryMs = this.#recovery.lost(reason);
    this.deps.observer?.lost?.({ type, exit, reason, failures: this.#recovery.failures, nextTryMs });
    if (!this.#isComing()) this.#rejectAll();
    if (nextTryMs === 0) this.#spawn();
    else this.#nextTry = this.deps.startTimer(nextTryMs, () => this.#spawn());
  }

  #fail(reason: string): void {
    this.#state = { type: 'failed', reason };
    this.#ticker?.cancel();
    this.deps.observer?.failed?.(reason);
    this.#rejectAll();
  }

  #crashed(error: AppError): void {
    this.#tasks.crashed(error);
    this.calls.refuseAll(error);
  }

  /** Rejects everything that waits. */
  #rejectAll(): void {
    const error = this.#down();
    this.#tasks.giveUp(error);
    this.calls.refuseAll(error);
    this.#settled.release();
  }

  /** Whether it is starting, and soon enough to wait for. */
  #isComing(): boolean {
    const state = this.state();
    return (state.type === 'starting' || state.type === 'lost') && !state.trouble;
  }

  #down(): AppError {
    const { capability } = this.deps;
    const state = this.state();
    if (state.type === 'failed') return new AppError('engine-failed', { capability, reason: state.reason });
    return new AppError('engine-down', { capability, ...(troubleOf(state) ?? stopped) });
  }
}

function isLoadMessage<Facts>(message: { readonly type: string }): message is LoadMessage<Facts> {
  return ['progress', 'loaded', 'load-failed', 'note'].includes(message.type);
}
