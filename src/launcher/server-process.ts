import type { ChildProcess } from 'node:child_process';

type ServerState =
  | { readonly type: 'idle' }
  | { readonly type: 'starting' }
  | { readonly type: 'running'; readonly address: string }
  | { readonly type: 'stopping' }
  | { readonly type: 'ended'; readonly code: number | null };

export type ConsoleEvent =
  | { readonly type: 'line'; readonly text: string }
  | { readonly type: 'state'; readonly state: ServerState };

export type ServerChild = Pick<ChildProcess, 'stdout' | 'stderr' | 'on' | 'send' | 'connected' | 'kill'>;

const maxLines = 2000;
const readyLine = /Please connect to custom endpoint at (\S+)/;

/** The server process of the launcher, one at a time, and its output. */
export class ServerProcess {
  #child: ServerChild | undefined;
  #state: ServerState = { type: 'idle' };
  #lines: string[] = [];
  readonly #listeners = new Set<(event: ConsoleEvent) => void>();

  constructor(
    private readonly spawn: (args: readonly string[]) => ServerChild,
    private readonly echo: (line: string) => void = () => undefined,
  ) {}

  get state(): ServerState {
    return this.#state;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  get busy(): boolean {
    return this.#child !== undefined;
  }

  /** Calls `ended` when the process is gone. False if one is running. */
  start(args: readonly string[], ended: () => void = () => undefined): boolean {
    if (this.#child) return false;
    this.#lines = [];
    this.#become({ type: 'starting' });
    const child = this.spawn(args);
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) if (stream) readLines(stream, (line) => this.#log(line));
    let over = false;
    const end = (code: number | null): void => {
      if (over) return;
      over = true;
      this.#child = undefined;
      ended();
      this.#become({ type: 'ended', code });
    };
    child.on('error', (error) => {
      this.#log(`The server could not be started: ${error.message}`);
      end(null);
    });
    child.on('close', (code) => end(code));
    return true;
  }

  /** Stops it gracefully; a second call kills it. */
  stop(): void {
    const child = this.#child;
    if (!child) return;
    if (this.#state.type === 'stopping' || !child.connected) {
      child.kill('SIGKILL');
      return;
    }
    this.#become({ type: 'stopping' });
    child.send('stop');
  }

  watch(listener: (event: ConsoleEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #log(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > maxLines) this.#lines.splice(0, this.#lines.length - maxLines);
    this.echo(line);
    this.#emit({ type: 'line', text: line });
    const address = readyLine.exec(line)?.[1];
    if (address !== undefined && this.#state.type === 'starting') this.#become({ type: 'running', address });
  }

  #become(state: ServerState): void {
    this.#state = state;
    this.#emit({ type: 'state', state });
  }

  #emit(event: ConsoleEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }
}

/** Whole lines. Of a progress bar, which overwrites itself, only the last state. */
function readLines(stream: NodeJS.ReadableStream, log: (line: string) => void): void {
  let rest = '';
  // A broken pipe ends with its process; `close` follows.
  stream.on('error', () => undefined);
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) log(lastOfBar(line));
  });
  stream.on('end', () => {
    if (rest !== '') log(lastOfBar(rest));
    rest = '';
  });
}

function lastOfBar(line: string): string {
  const whole = line.replace(/\r$/, '');
  return whole.slice(whole.lastIndexOf('\r') + 1);
}
