import { reportFacts, versionList } from '../core/product.ts';
import type { EngineObserver } from '../engines/host/engine-process.ts';
import { type Loss, lossLine } from '../engines/host/engine-state.ts';
import { progressBar, type Terminal } from '../observe/terminal.ts';
import { type EnginePackages, installedVersions } from './engine-packages.ts';

interface EngineConsoleOptions<Facts> extends LossReport {
  /** Shows the output of the engine itself (`--debugmode`). */
  readonly debug?: boolean;
  /** The console line when the model is loaded. */
  readonly loaded?: (facts: Facts) => string;
}

interface LossReport {
  /** What a person can do if the engine crashes again and again. */
  readonly advice: string;
  /** Those of its kind. */
  readonly packages: EnginePackages;
}

/** Console lines of an engine: loading, loaded, failed, crashed. Few engines know how far they have loaded. */
export function engineConsole<Facts>(
  kind: string,
  name: string,
  terminal: Pick<Terminal, 'line' | 'status' | 'interactive'>,
  { debug = false, loaded, ...report }: EngineConsoleOptions<Facts>,
): EngineObserver<Facts> {
  const error = { level: 'error', model: name } as const;
  const loading = `Loading ${name.replace(/^The /, 'the ')}`;
  return {
    starting: () => (terminal.interactive ? terminal.status(`${loading} …`) : terminal.line(`${loading} …`)),
    progress: (fraction) => terminal.status(`${loading} ${progressBar(fraction)}`),
    loaded: (facts) =>
      loaded ? terminal.line(loaded(facts), { event: 'load', outcome: 'done', model: name }) : terminal.status(''),
    failed: (reason) =>
      terminal.line(`${name} could not be loaded: ${reason}`, { ...error, event: 'load', outcome: 'failed' }),
    lost: (loss) => terminal.line(lossReport(kind, loss, report), { ...error, event: 'lost' }),
    note: (text) => terminal.line(text),
    ...(debug ? { line: (line: string) => terminal.line(`${name}: ${line}`) } : {}),
  };
}

/** The console line of a lost engine. The first crash of a row has the versions that a report needs. */
export function lossReport(kind: string, loss: Loss, { advice, packages }: LossReport): string {
  const line = lossLine(kind, loss, advice);
  if (!isCrash(loss) || loss.failures > 1) return line;
  const engine = versionList(installedVersions(packages));
  return `${line} For a report: ${[reportFacts(), engine].filter(Boolean).join(', ')}.`;
}

/** Signals by which the system or a person ends a process; others come from its own faults. */
const endedFromOutside: ReadonlySet<string> = new Set(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP']);
/** Exit codes of faults on Windows, such as 0xC0000005. */
const firstFaultCode = 0xc0000000;

function isCrash({ type, exit }: Loss): boolean {
  if (type !== 'died' || !exit) return false;
  return exit.signal ? !endedFromOutside.has(exit.signal) : (exit.code ?? 0) >= firstFaultCode;
}
