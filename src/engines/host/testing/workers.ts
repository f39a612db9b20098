import type { StartTimer } from '../../../core/timers.ts';
import type { Attachments } from '../channel.ts';
import type { Child, ChildExit, ChildListeners, Spawn } from '../child.ts';
import { tickMs } from '../heartbeat.ts';

/** A process that a test plays. */
export interface FakeWorker<Outgoing, Incoming> {
  readonly sent: Outgoing[];
  readonly attached: Attachments[];
  /** Ended the hard way by the server; `exit` is still to be called. */
  killed: boolean;
  /** Whether it sends a heartbeat each half second. */
  lively: boolean;
  /** Grace time of its stop, once it is stopped. */
  stoppedWithin: number | undefined;
  say(message: Incoming, attachments?: Attachments): void;
  pulse(pulse: { readonly hung?: boolean; readonly timeoutMs?: number }): void;
  exit(how?: Partial<ChildExit>): void;
}

/** Processes and a clock that the test controls. */
export function fakeWorkers<Outgoing, Incoming>() {
  const workers: FakeWorker<Outgoing, Incoming>[] = [];
  const timers = new Set<{ at: number; readonly length: number; readonly passed: () => void }>();
  let now = 0;

  const spawn = ((_entry: string, listeners: ChildListeners<Incoming>): Child<Outgoing> => {
    const worker: FakeWorker<Outgoing, Incoming> = {
      sent: [],
      attached: [],
      killed: false,
      lively: true,
      stoppedWithin: undefined,
      say: (message, attachments = []) => listeners.message(message, attachments),
      pulse: (pulse) => listeners.pulse?.({ hung: false, timeoutMs: 0, ...pulse }),
      exit: (how = {}) => {
        worker.lively = false;
        listeners.exit({ code: null, signal: 'SIGSEGV', lastLines: [], ...how });
      },
    };
    workers.push(worker);
    return {
      pid: workers.length,
      send: (message, attachments = []) => {
        worker.sent.push(message);
        worker.attached.push(attachments);
      },
      kill: () => {
        worker.killed = true;
      },
      stop: (graceMs) => {
        worker.stoppedWithin = graceMs;
        return Promise.resolve();
      },
    };
  }) as unknown as Spawn;

  const startTimer: StartTimer = (length, passed) => {
    const timer = { at: now + length, length, passed };
    timers.add(timer);
    return {
      restart: () => {
        timer.at = now + length;
        timers.add(timer);
      },
      cancel: () => timers.delete(timer),
    };
  };

  /** Advances the clock in ticks. */
  const advance = (milliseconds: number): void => {
    const end = now + milliseconds;
    while (now < end) {
      now += tickMs;
      for (const worker of workers) if (worker.lively) worker.pulse({});
      fire();
    }
  };
  const fire = (): void => {
    for (const timer of [...timers].sort((a, b) => a.at - b.at)) {
      if (timer.at > now || !timers.delete(timer)) continue;
      timer.passed();
    }
  };

  return {
    spawn,
    startTimer,
    workers,
    advance,
    /** The machine sleeps: only the clock advances. Due timers run once when it wakes. */
    sleep: (milliseconds: number) => {
      now += milliseconds;
      fire();
    },
    worker: () => workers.at(-1) as FakeWorker<Outgoing, Incoming>,
    /** The lengths of all waits that are not ticks. */
    waits: () => [...timers].map(({ length }) => length).filter((length) => length !== tickMs),
    pendingTimers: () => timers.size,
  };
}
