import { appendFileSync, existsSync } from 'node:fs';
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
import type { ReachedOutput } from './reached-output.ts';
import { createRuntime, type Runtime } from './runtime.ts';
import { serve } from './serve.ts';
import type { Stops } from './stops.ts';
import { terminalControls } from './terminal-controls.ts';

interface ModelModeParts {
  readonly product: Product;
  readonly stops: Stops;
  readonly output: ReachedOutput;
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
  { settings: wanted, given, notes }: Running & Pick<Loaded, 'notes'>,
  { product, stops, output, opensPage, answers }: ModelModeParts,
): Promise<void> {
  const mode = modeOf(wanted);
  // With --prompt, standard output is the reply and nothing else.
  const scripted = mode === 'prompt';
  const served = mode === 'serve';
  // Other modes than the server print results.
  const terminal =
    served && wanted.logformat === 'json'
      ? new JsonTerminal(process.stdout, () => new Date())
      : new Terminal(streamOutput(scripted ? process.stderr : process.stdout, { moving: !scripted }));
  for (const line of scripted ? notes : [welcome(product.version), ...notes]) terminal.line(line);
  if (wanted.highpriority) raisePriority(terminal);
  const settings = await withModel(wanted, given, terminal, stops);
  const quiet = settings.quiet || settings.debugmode === -1 || scripted || mode === 'chat';
  const observed = served || mode === 'benchmark';
  const runtime = await createRuntime({ settings, given, terminal, product, served, quiet, observed });
  stops.handle(runtime.stop);
  if (served) return serveModel(runtime, settings, terminal, opensPage);
  await runtime.engine.start();
  const { type } = runtime.engine.state();
  if (type !== 'ready') return runtime.exit(type === 'none' ? 2 : 3);
  await terminalModes[mode === 'prompt' && answers ? 'answer' : mode](runtime, settings, terminal, output);
  await runtime.exit(await output.settled(console.error));
}

/** Downloads the model first, where the settings name one that is not here. */
async function withModel(
  settings: Settings,
  given: Running['given'],
  terminal: Terminal,
  stops: Stops,
): Promise<Settings> {
  if (!isRemoteModel(settings.model?.[0] ?? '')) return settings;
  const { ownFetching, withFetchedModel } = await import('./fetch-model.ts');
  const stop = new AbortController();
  stops.handle(() => stop.abort(new Error('it was stopped. What was downloaded is kept. Try again to continue')));
  return withFetchedModel(settings, { ...ownFetching(settings), given, terminal, signal: stop.signal });
}

async function serveModel(runtime: Runtime, settings: Settings, terminal: Terminal, opensPage: boolean): Promise<void> {
  const { app, engine, model, registry, exit, stop } = runtime;
  const given = givenModels(model.taskModels).map(({ spec: { kind, name }, optional = false }) => ({
    name,
    kind,
    optional,
    load: () => registry.load(kind, name),
  }));
  const listening = (): void => {
    guardFaults({ facts: reportFacts(), say: (line) => terminal.line(line, { level: 'error' }) });
    runtime.resumeDownloads();
  };
  const end = (code: number): void => void exit(code);
  const { lan } = runtime;
  const serving = {
    app,
    engine,
    ...(lan && { lan }),
    model: () => runtime.model,
    given,
    preload: () => runtime.preload(),
  };
  await serve({ ...serving, settings, terminal, opensPage, listening, exit: end, stop });
}

type TerminalMode = (runtime: Runtime, settings: Settings, terminal: Terminal, output: ReachedOutput) => Promise<void>;

const terminalModes: Readonly<Record<Exclude<Mode, 'serve'> | 'answer', TerminalMode>> = {
  answer: async ({ app: { context } }, settings, _, output) => {
    const { oneAnswer } = await import('./one-shot.ts');
    await oneAnswer(context.chat, settings.prompt, terminalControls(context), output);
  },
  prompt: async ({ app: { context } }, settings, _, output) => {
    const { oneShot } = await import('./one-shot.ts');
    await oneShot(context.text, settings.prompt, terminalControls(context), output);
  },
  chat: async ({ app: { context }, model }, _, __, output) => {
    const { terminalChat } = await import('./terminal-chat.ts');
    await terminalChat({
      text: context.text,
      tags: model.format.adapter.adapter.tags,
      controls: terminalControls(context),
      input: process.stdin,
      output: process.stdout,
      lost: output.lost,
    });
  },
  benchmark: async ({ app: { context } }, { benchmark: target }, terminal) => {
    const { benchmark, benchmarkCsv, benchmarkText } = await import('./benchmark.ts');
    const result = await benchmark(context.text);
    terminal.line(benchmarkText(result));
    if (!target || target === 'stdout') return;
    appendFileSync(target, benchmarkCsv(result, new Date().toISOString(), !existsSync(target)));
  },
};

function raisePriority(terminal: Terminal): void {
  try {
    setPriority(constants.priority.PRIORITY_ABOVE_NORMAL);
  } catch {
    terminal.line('--highpriority: the system does not allow this user a higher priority.', { level: 'warn' });
  }
}
