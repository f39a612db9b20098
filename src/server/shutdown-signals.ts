/** The signals of the process, and its channel to the launcher if there is one. */
interface StoppableProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly channel?: { unref(): void } | null | undefined;
  on(event: NodeJS.Signals | 'message' | 'disconnect', listener: (detail: unknown) => void): unknown;
}

/** Set by the parent process if its end must stop this one. */
export const launcherVariable = 'PARLEY_LAUNCHER';

/** npm passes on the signals that the terminal sends to all processes: each arrives twice. A later one is another signal. */
const echoMs = 1000;

/**
 * All ways to stop the program. The first signal stops it, a second one ends it at once. A launcher sends a message, because a signal
 * that a terminal or npm sends to all processes would arrive several times. The end of the launcher stops the program too; the end of
 * any other parent does not, so that a server in the background survives its terminal.
 */
export class ShutdownSignals {
  #stop: ((why: string) => void) | undefined;
  #isStopping = false;
  /** When the first signal came. */
  #signalledAt: number | undefined;

  constructor(
    private readonly process: StoppableProcess,
    private readonly exit: (code: number) => void,
    private readonly now: () => number = () => performance.now(),
  ) {
    if (!process.channel || process.env[launcherVariable] === undefined) return;
    process.on('message', (message) => {
      if (message === 'stop') this.#request('the launcher asked for it');
      if (message === 'stop-now') exit(1);
    });
    process.on('disconnect', () => this.#request('the launcher is gone'));
    // The listeners must not keep the program running.
    process.channel.unref();
  }

  /** Sets how to stop; the latest way is used. Before, a request to stop ends the program at once. */
  handle(stop: (why: string) => void): void {
    const isFirst = this.#stop === undefined;
    this.#stop = stop;
    if (!isFirst) return;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      this.process.on(signal, () => this.#signal(signal));
    }
  }

  #signal(name: NodeJS.Signals): void {
    // Node resets the signal handling of `nohup`; the shell's variable shows that it was used.
    if (name === 'SIGHUP' && /(^|\/)nohup$/.test(this.process.env._ ?? '')) return;
    if (this.#signalledAt !== undefined && !this.#isEcho(this.#signalledAt)) this.exit(1);
    this.#signalledAt ??= this.now();
    this.#request(name);
  }

  #isEcho(firstAt: number): boolean {
    return this.process.env.npm_execpath !== undefined && this.now() - firstAt < echoMs;
  }

  #request(why: string): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    if (this.#stop) this.#stop(why);
    else this.exit(1);
  }
}
