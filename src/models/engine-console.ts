import { lossLine } from '../engines/host/engine-state.ts';
import type { TaskObserver } from '../engines/host/task-engine.ts';
import type { Terminal } from '../observe/terminal.ts';

export interface EngineConsoleOptions<Facts> {
  /** Shows the output of the engine itself (`--debugmode`). */
  readonly debug?: boolean;
  /** The line that is shown when the model is loaded. */
  readonly loaded?: (facts: Facts) => string;
  /** What a person can do if the engine crashes again and again. */
  readonly advice: string;
}

/** Console lines of an engine: loaded, failed, crashed. */
export function engineConsole<Facts>(
  kind: string,
  name: string,
  terminal: Pick<Terminal, 'line'>,
  { debug = false, loaded, advice }: EngineConsoleOptions<Facts>,
): TaskObserver<Facts> {
  return {
    ...(loaded ? { loaded: (facts: Facts) => terminal.line(loaded(facts)) } : {}),
    failed: (reason) => terminal.line(`${name} could not be loaded: ${reason}`),
    lost: (loss) => terminal.line(lossLine(kind, loss, advice)),
    note: (text) => terminal.line(text),
    ...(debug ? { line: (line: string) => terminal.line(`${name}: ${line}`) } : {}),
  };
}
