/** What is needed of the process: its signals, and the channel to the launcher where there is one. */
export interface StoppableProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly channel?: { unref(): void } | null | undefined;
  on(event: NodeJS.Signals | 'message' | 'disconnect', listener: (detail: unknown) => void): unknown;
}

/** Set by `scripts/start.mjs`: only then does the end of the other side of the channel mean anything. */
export const launcherVariable = 'PARLEY_LAUNCHER';

/**
 * Every way in which the program is asked to end. A signal asks once, and a second one ends it at once. A launcher asks by a
 * message: what a terminal or npm sends to all of its processes would otherwise arrive here several times and count as
 * impatience. A launcher that is gone asks too; nobody else's end does, so that a server in the background outlives
 * its terminal.
 */
export class Stops {
  #stop: ((why: string) => void) | undefined;
  #asked = false;
  #signalled = false;

  constructor(
    private readonly process: StoppableProcess,
    private readonly exit: (code: number) => void,
  ) {
    if (!process.channel || process.env[launcherVariable] === undefined) return;
    process.on('message', (message) => {
      if (message === 'stop') this.#ask('the launcher asked for it');
      if (message === 'stop-now') exit(1);
    });
    process.on('disconnect', () => this.#ask('the launcher is gone'));
    // The listeners alone must not keep a program running that has done its work.
    process.channel.unref();
  }

  /** From now on there is something to be ended well; before, a request to stop ends the program on the spot. */
  handle(stop: (why: string) => void): void {
    this.#stop = stop;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      this.process.on(signal, () => this.#signal(signal));
    }
  }

  #signal(name: NodeJS.Signals): void {
    // Node undoes what `nohup` did before it; the shell tells in this variable that it was there.
    if (name === 'SIGHUP' && /(^|\/)nohup$/.test(this.process.env._ ?? '')) return;
    if (this.#signalled) this.exit(1);
    this.#signalled = true;
    this.#ask(name);
  }

  #ask(why: string): void {
    if (this.#asked) return;
    this.#asked = true;
    if (this.#stop) this.#stop(why);
    else this.exit(1);
  }
}
