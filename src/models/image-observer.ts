import type { Settings } from '../config/flags.ts';
import type { ImageFacts } from '../core/image.ts';
import { lossLine } from '../engines/host/engine-state.ts';
import type { TaskObserver } from '../engines/host/task-engine.ts';
import type { Terminal } from '../observe/terminal.ts';

const adviceForLosses = 'If this goes on, --debugmode shows what the engine says.';

/** What people see of an engine for pictures. */
export function imageObserver(
  name: string,
  terminal: Pick<Terminal, 'line'>,
  { debugmode }: Pick<Settings, 'debugmode'>,
): TaskObserver<ImageFacts> {
  return {
    loaded: () => terminal.line(`Loaded ${name} for pictures.`),
    failed: (reason) => terminal.line(`${name} could not be loaded: ${reason}`),
    lost: (loss) => terminal.line(lossLine('image', loss, adviceForLosses)),
    note: (text) => terminal.line(text),
    ...(debugmode === 1 ? { line: (line: string) => terminal.line(`${name}: ${line}`) } : {}),
  };
}
