import { AppError } from '../../core/errors.ts';
import type { Attachments } from './channel.ts';
import type { Child, ChildExit, Spawn } from './child.ts';
import { downError, type EngineState, howItDied, type Loss, Recovery } from './engine-state.ts';
import { type Pulse, Stillness, stillMs, tickMs } from './heartbeat.ts';
import { CrashSuspects, type InFlightTask, InFlightTasks, PendingCalls } from './in-flight.ts';

export interface EngineProcessParts<Outgoing, Incoming> {
  /** What it does for people: `text`, `speech`, … */
  readonly capability: string;
  readonly spawn: Spawn;
  readonly entry: string;
  readonly startTimer: StartTimer;
  /** The first message to each process: what to load. */
  readonly opening: () => Outgoing;
  /** Reads a message, and calls `progressed`, `becameReady`, `couldNotLoad`, `answered`, `refused` and `ended` by it. */
  readonly receive: (message: Incoming, attachments: Attachments) => void;
  /** How long it may take to end when it is asked to. */
  readonly closingMs: number;
  /** It has been loaded before: a failure may pass, and is no reason to give up. */
  readonly proven?: boolean;
  /** Another start, with another opening, is the answer to this end; it is no failure. */
  readonly startsOver?: (exit: ChildExit) => boolean;
  /** Why it could not load, where it did not say so itself. */
  readonly loadReason?: (exit: ChildExit) => string;
  readonly observer?: EngineObserver;
}

export type StartTimer = (milliseconds: number, passed: () => void) => { cancel(): void };

export interface EngineObserver {
  /** A process begins to load, for the first time or again. */
  starting?(): void;
  failed?(reason: string): void;
  /** The process is gone, and will be started again. */
  lost?(loss: Loss): void;
  line?(line: string): void;
}

/** After this a process that even the system cannot end is left behind. */
const longestDyingMs = 10_000;

/**
 * The life of one engine: a process of its own that is started when it is needed, watched, started again when it dies or
 * hangs, and stopped. It does not know what the messages say. Whoever waits for it is answered in the end, whatever
 * happens: `settled` resolves, questions are answered or refused, undertakings end or are lost.
 */
export class EngineProcess<Outgoing, Incoming> {
  #state: EngineState = { type: 'idle' };
  #child: Child<Outgoing> | undefined;
  #heart = new Heartbeat();
  #proven: boolean;
  #loadFailure: string | undefined;
  #nextId = 1;
  #waiting: (() => void)[] = [];
  #ticker: { cancel(): void } | undefined;
  #nextTry: { cancel(): void } | undefined;
  #stopping: Promise<void> | undefined;
  /** A process that was given up and is not gone yet. */
  #dying: { readonly child: Child<Outgoing>; readonly gone: () => void } | undefined;
  readonly #recovery = new Recovery();
  readonly #questions: PendingCalls;
  readonly #undertakings: InFlightTasks;

  constructor(private readonly parts: EngineProcessParts<Outgoing, Incoming>) {
    this.#proven = parts.proven ?? false;
    this.#questions = new PendingCalls(parts.capability);
    this.#undertakings = new InFlightTasks(parts.capability, new CrashSuspects());
  }

  start(): void {
    if (this.#state.type !== 'idle') return;
    this.#spawn();
    this.#tickLater();
  }

  /** The process, for those who watch or test it. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  state(): EngineState {
    if (this.#state.type !== 'starting' && this.#state.type !== 'lost') return this.#state;
    const trouble = this.#recovery.trouble();
    return trouble ? { ...this.#state, trouble } : this.#state;
  }

  /** Resolves when it is ready or when it is known that waiting is no use. Whoever waits for one that is idle starts it. */
  settled(): Promise<void> {
    this.start();
    return this.#comes() ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve();
  }

  send(message: Outgoing, attachments: Attachments = []): void {
    this.#child?.send(message, attachments);
  }

  /** Waits for a process that is starting. */
  async ask<Answer>(question: (id: number) => Outgoing, attachments: Attachments = []): Promise<Answer> {
    this.start();
    while (this.#comes()) await this.settled();
    if (this.#state.type !== 'ready') throw this.#down();
    const id = this.#nextId++;
    const answer = this.#questions.ask<Answer>(id);
    this.send(question(id), attachments);
    return answer;
  }

  /** Begins as soon as the engine lets it. It ends with `ended`, or is told that it was lost or withdrawn. */
  undertake(work: InFlightTask): { abort(): void } {
    this.start();
    const id = this.#nextId++;
    this.#undertakings.hold(id, work);
    if (this.#state.type === 'ready') this.#undertakings.beginHeld();
    else if (!this.#comes()) this.#undertakings.giveUp(this.#down());
    return { abort: () => this.#undertakings.abort(id) };
  }

  progressed(progress: number): void {
    if (this.#state.type === 'starting') this.#state = { type: 'starting', progress };
  }

  becameReady(): void {
    if (this.#state.type !== 'starting') return;
    this.#proven = true;
    this.#state = { type: 'ready' };
    this.#recovery.ready();
    this.#settle();
    this.#undertakings.beginHeld();
  }

  /** The process will end now. Its last lines may still be on the way: its exit settles the matter. */
  couldNotLoad(reason: string | undefined): void {
    this.#loadFailure = reason;
  }

  answered(id: number, value: unknown): void {
    this.#questions.answer(id, value);
  }

  refused(id: number, error: AppError): void {
    this.#questions.refuse(id, error);
  }

  ended(id: number): void {
    this.#recovery.sound();
    this.#undertakings.ended(id);
    if (this.#state.type === 'ready') this.#undertakings.beginHeld();
  }

  /** Whoever waits is told at once; the process gets its time to end. */
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
    this.#giveUp();
    await child?.stop(this.parts.closingMs);
    this.#state = { type: 'stopped' };
  }

  #spawn(): void {
    this.#state = { type: 'starting', progress: 0 };
    this.#recovery.loading();
    this.#loadFailure = undefined;
    const heart = new Heartbeat();
    this.#heart = heart;
    const { observer } = this.parts;
    observer?.starting?.();
    const child: Child<Outgoing> = this.parts.spawn<Outgoing, Incoming>(this.parts.entry, {
      message: (message, attachments) => {
        if (this.#child === child) this.parts.receive(message, attachments);
      },
      exit: (exit) => this.#exited(child, exit),
      pulse: (pulse) => heart.pulse(pulse),
      ...(observer?.line ? { line: observer.line } : {}),
    });
    this.#child = child;
    child.send(this.parts.opening());
  }

  /** Time is counted in ticks that came, and so does not pass while the machine sleeps. */
  #tickLater(): void {
    this.#ticker = this.parts.startTimer(tickMs, () => {
      this.#tick();
      if (!this.#stopping) this.#tickLater();
    });
  }

  #tick(): void {
    this.#recovery.tick(this.#state.type);
    const { patienceMs } = this.#heart;
    this.#questions.tick(patienceMs);
    const stuck = this.#undertakings.tick(patienceMs);
    if (this.#state.type === 'ready') {
      const hung = this.#heart.tick();
      if (stuck || hung) this.#endHung();
    } else if (!this.#comes()) this.#giveUp();
  }

  #endHung(): void {
    const child = this.#child as Child<Outgoing>;
    this.#child = undefined;
    this.#crashed(new AppError('engine-silent', { capability: this.parts.capability }));
    this.#state = { type: 'lost' };
    child.kill();
    const comeBack = () => this.#comeBack('silent', undefined, 'the engine process did not answer any more');
    const timer = this.parts.startTimer(longestDyingMs, () => this.#dying?.gone());
    this.#dying = {
      child,
      gone: () => {
        timer.cancel();
        this.#dying = undefined;
        if (!this.#stopping) comeBack();
      },
    };
  }

  #exited(child: Child<Outgoing>, exit: ChildExit): void {
    if (this.#dying?.child === child) this.#dying.gone();
    if (this.#child !== child) return;
    this.#child = undefined;
    this.#crashed(new AppError('engine-lost', { capability: this.parts.capability }));
    const loading = this.#state.type === 'starting';
    if (this.parts.startsOver?.(exit)) {
      this.#spawn();
      return;
    }
    const reason = loading ? (this.#loadFailure ?? this.parts.loadReason?.(exit) ?? howItDied(exit)) : howItDied(exit);
    if (loading && !this.#proven) this.#fail(reason);
    else this.#comeBack(loading ? 'not-loaded' : 'died', exit, reason);
  }

  #comeBack(type: Loss['type'], exit: ChildExit | undefined, reason: string): void {
    this.#state = { type: 'lost' };
    const nextTryMs = this.#recovery.lost(reason);
    this.parts.observer?.lost?.({ type, exit, reason, failures: this.#recovery.failures, nextTryMs });
    if (!this.#comes()) this.#giveUp();
    if (nextTryMs === 0) this.#spawn();
    else this.#nextTry = this.parts.startTimer(nextTryMs, () => this.#spawn());
  }

  #fail(reason: string): void {
    this.#state = { type: 'failed', reason };
    this.#ticker?.cancel();
    this.parts.observer?.failed?.(reason);
    this.#giveUp();
  }

  #crashed(error: AppError): void {
    this.#undertakings.crashed(error);
    this.#questions.refuseAll(error);
  }

  /** Nobody needs to wait any more. */
  #giveUp(): void {
    const error = this.#down();
    this.#undertakings.giveUp(error);
    this.#questions.refuseAll(error);
    this.#settle();
  }

  #settle(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Whether it is on its way, and soon enough to be waited for. */
  #comes(): boolean {
    const state = this.state();
    return (state.type === 'starting' || state.type === 'lost') && !state.trouble;
  }

  #down(): AppError {
    const { capability } = this.parts;
    const state = this.state();
    if (state.type === 'failed') return new AppError('engine-failed', { capability, reason: state.reason });
    const stopped = { reason: 'it is being stopped', retryAfterSeconds: 5 };
    return downError(capability, ('trouble' in state && state.trouble) || stopped);
  }
}

/** What the server knows of the life of one process. */
export class Heartbeat {
  #pulses = 0;
  #hung = false;
  #patienceMs = 0;
  readonly #silence = new Stillness();

  /** How long the step that it does may take. */
  get patienceMs(): number {
    return this.#patienceMs;
  }

  pulse({ hung, patienceMs }: Pulse): void {
    this.#pulses += 1;
    this.#hung = hung;
    this.#patienceMs = patienceMs;
  }

  /** Half a second has passed: whether it hangs. One that never gave a sign is not known to be able to. */
  tick(): boolean {
    const silentMs = this.#silence.tick(this.#pulses);
    return this.#hung || (this.#pulses > 0 && silentMs > stillMs);
  }
}
