import { constants, setPriority } from 'node:os';
import type { Settings } from '../config/flags.ts';
import type { Loaded, Running } from '../config/load.ts';
import { isRemoteModel } from '../config/paths.ts';
import { type Product, reportFacts } from '../core/product.ts';
import { givenModels } from '../models/engine-kinds.ts';
import { welcome } from '../observe/banner.ts';
import { JsonTerminal } from '../observe/json-log.ts';
import { streamOutput, Terminal } from '../observe/terminal.ts';
import { guardFaults } from './guard-faults.ts';
import type { ResultOutput } from './result-output.ts';
import { createRuntime, type Runtime } from './runtime.ts';
import { serve } from './serve.ts';
import type { ShutdownSignals } from './shutdown-signals.ts';

interface ModelModeOptions {
  readonly product: Product;
  readonly signals: ShutdownSignals;
  readonly output: ResultOutput;
  /** Open the web client in the browser when the server is ready. */
  readonly opensPage: boolean;
  /** `--prompt` is a question to answer instead of a text to complete. */
  readonly answers: boolean;
}

/** `--prompt`: one reply; `--cli`: a chat in the terminal; `--benchmark`; or the server. */
type Mode = 'prompt' | 'chat' | 'benchmark' | 'serve';

function modeOf({ prompt, cli, benchmark }: Settings): Mode {
  if (prompt !== '') return 'prompt';
  if (cli) return 'chat';
  return benchmark === null ? 'serve' : 'benchmark';
}

/** Runs a mode that loads a model. */
export async function runModel(
  { settings: flags, given, notes }: Running & Pick<Loaded, 'notes'>,
  { product, signals, output, opensPage, answers }: ModelModeOptions,
): Promise<void> {
  const mode = modeOf(flags);
  // With --prompt, standard output is the reply and nothing else.
  const scripted = mode === 'prompt';
  const served = mode === 'serve';
  // Other modes than the server print results.
  const terminal =
    served && flags.logformat === 'json'
      ? new JsonTerminal(process.stdout, () => new Date())
      : new Terminal(streamOutput(scripted ? process.stderr : process.stdout, { moving: !scripted }));
  for (const line of scripted ? notes : [welcome(product.version), ...notes]) terminal.line(line);
  if (flags.highpriority) raisePriority(terminal);
  const settings = await withModel(flags, given, terminal, signals);
  const quiet = settings.quiet || settings.debugmode === -1 || scripted || mode === 'chat';
  const observed = served || mode === 'benchmark';
  const runtime = await createRuntime({ settings, given, terminal, product, served, quiet, observed });
  signals.handle(runtime.stop);
  if (served) return serveModel(runtime, settings, terminal, opensPage);
  await runtime.engine.start();
  const { type } = runtime.engine.state();
  if (type !== 'ready') return runtime.exit(type === 'none' ? 2 : 3);
  const { terminalModes } = await import('./terminal-modes.ts');
  await terminalModes[mode === 'prompt' && answers ? 'answer' : mode](runtime, settings, terminal, output);
  await runtime.exit(await output.finish(console.error));
}

/** Downloads the model first, where the settings name one that is not here. */
async function withModel(
  settings: Settings,
  given: Running['given'],
  terminal: Terminal,
  signals: ShutdownSignals,
): Promise<Settings> {
  if (!isRemoteModel(settings.model?.[0] ?? '')) return settings;
  const { ownFetching, withFetchedModel } = await import('./fetch-model.ts');
  const stop = new AbortController();
  signals.handle(() => stop.abort(new Error('it was stopped. What was downloaded is kept. Try again to continue')));
  return withFetchedModel(settings, { ...ownFetching(settings), given, terminal, signal: stop.signal });
}

async function serveModel(runtime: Runtime, settings: Settings, terminal: Terminal, opensPage: boolean): Promise<void> {
  const configuredModels = givenModels(runtime.model.taskModels).map(({ spec: { kind, name }, optional = false }) => ({
    name,
    kind,
    optional,
    load: () => runtime.registry.load(kind, name),
  }));
  const listening = (): void => {
    guardFaults({ facts: reportFacts(), log: (line) => terminal.line(line, { level: 'error' }) });
    runtime.resumeDownloads();
  };
  await serve({ runtime, configuredModels, settings, terminal, opensPage, listening });
}

function raisePriority(terminal: Terminal): void {
  try {
    setPriority(constants.priority.PRIORITY_ABOVE_NORMAL);
  } catch {
    terminal.line('--highpriority: the system does not allow this user a higher priority.', { level: 'warn' });
  }
}
