import { lossLine } from '../engines/host/engine-state.ts';
import type { TaskObserver } from '../engines/host/task-engine.ts';
import { progressBar, type Terminal } from '../observe/terminal.ts';

export interface EngineConsoleOptions<Facts> {
  /** Shows the output of the engine itself (`--debugmode`). */
  readonly debug?: boolean;
  /** The line that is shown when the model is loaded. */
  readonly loaded?: (facts: Facts) => string;
  /** What a person can do if the engine crashes again and again. */
  readonly advice: string;
}

/** Console lines of an engine: loading, loaded, failed, crashed. Few engines know how far they have loaded. */
export function engineConsole<Facts>(
  kind: string,
  name: string,
  terminal: Pick<Terminal, 'line' | 'status' | 'interactive'>,
  { debug = false, loaded, advice }: EngineConsoleOptions<Facts>,
): TaskObserver<Facts> {
  const loading = `Loading ${name.replace(/^The /, 'the ')}`;
  return {
    starting: () => (terminal.interactive ? terminal.status(`${loading} …`) : terminal.line(`${loading} …`)),
    progress: (fraction) => terminal.status(`${loading} ${progressBar(fraction)}`),
    loaded: (facts) => (loaded ? terminal.line(loaded(facts)) : terminal.status('')),
    failed: (reason) => terminal.line(`${name} could not be loaded: ${reason}`),
    lost: (loss) => terminal.line(lossLine(kind, loss, advice)),
    note: (text) => terminal.line(text),
    ...(debug ? { line: (line: string) => terminal.line(`${name}: ${line}`) } : {}),
  };
}
