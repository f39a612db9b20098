#!/usr/bin/env node
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { resolve } from 'node:path';
import { createApp } from './app.ts';
import { writeConfigFile } from './config/config-file.ts';
import { readDiskCache } from './config/disk-cache.ts';
import type { FlagKey, Settings } from './config/flags.ts';
import { helpText } from './config/help.ts';
import { loadSettings } from './config/load.ts';
import { lossLine } from './engines/host/engine-state.ts';
import { tryFolder } from './engines/llama/cache-folder.ts';
import type { LlamaObserver } from './engines/llama/host.ts';
import type { ModelFile } from './engines/llama/model-file.ts';
import { readModelFile } from './engines/llama/model-file.ts';
import { RestingEngine } from './engines/resting.ts';
import { systemTimer } from './http/timers.ts';
import { welcome } from './observe/banner.ts';
import { contextFact } from './observe/context-fact.ts';
import { LoadLog } from './observe/load-log.ts';
import { printable } from './observe/printable.ts';
import { RefusalLog } from './observe/refusal-log.ts';
import { Repeats } from './observe/repeats.ts';
import { RequestLog } from './observe/request-log.ts';
import { streamOutput } from './observe/stream-output.ts';
import { Terminal } from './observe/terminal.ts';
import { loadChatFormat } from './run/chat-format.ts';
import { createTextEngine, displayName, modelPath } from './run/engine.ts';
import { ReachedOutput } from './run/reached-output.ts';
import { serve } from './run/serve.ts';
import { launcherVariable, Stops } from './run/stops.ts';

// A log that nobody can write to any more must not end the program; whoever needs it to be read watches for itself.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

const stops = new Stops(process, (code) => process.exit(code));
// It is for this process alone, and not for those that it starts.
delete process.env[launcherVariable];

const adviceForLosses =
  'If this goes on: --debugmode shows what llama.cpp says; a smaller --contextsize or fewer --gpulayers need less memory; --cpubuild names another build.';
const product = { name: 'Parley', version: packageVersion() };

await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
});

async function main(words: readonly string[]): Promise<void> {
  const loaded = loadSettings({
    arguments: words,
    environment: process.env,
    readFile: (path) => readFileSync(path, 'utf8'),
    exists: existsSync,
  });
  if (loaded.type === 'refused') {
    for (const line of [...loaded.notes, ...loaded.problems.map(({ sentence }) => sentence)]) console.error(line);
    process.exit(loaded.exitCode);
  }
  const { settings, given, notes } = loaded;
  const output = new ReachedOutput(process.stdout);
  if (await inform(settings)) process.exitCode = await output.settled(console.error);
  else await run(settings, given, notes, output);
}

/** The modes that only tell or write something; false where none of them is asked for. */
async function inform(settings: Settings): Promise<boolean> {
  if (settings.help) console.log(helpText(process.stdout.columns ?? 100));
  else if (settings.version) console.log(product.version);
  else if (settings.analyze) await analyze(settings.analyze);
  else if (settings.exportconfig) exportConfig(settings.exportconfig, '.kcpps', writeConfigFile(settings, 'config'));
  else if (settings.exporttemplate) {
    exportConfig(settings.exporttemplate, '.kcppt', writeConfigFile(settings, 'template'));
  } else return false;
  return true;
}

/** The modes that load a model: one reply, a chat in the terminal, a benchmark, or the server. */
async function run(
  settings: Settings,
  given: ReadonlySet<FlagKey>,
  notes: readonly string[],
  output: ReachedOutput,
): Promise<void> {
  const scripted = settings.prompt !== '';
  const served = !scripted && !settings.cli && settings.benchmark === null;
  const log = scripted ? process.stderr : process.stdout;
  const terminal = new Terminal(streamOutput(log, { moving: !scripted }));
  for (const line of scripted ? notes : [...welcome(product.version), ...notes]) terminal.line(line);
  if (settings.highpriority) raisePriority(terminal);

  const path = modelPath(settings);
  const file = path === undefined ? undefined : await modelFile(path);
  if (file && settings.diskcache !== '') await checkDiskCache(settings.diskcache);
  const format = await loadChatFormat(settings, file?.chatTemplate, (text) => terminal.line(text));
  const { adapter } = format;
  const loadLog = new LoadLog(terminal, path === undefined ? '' : displayName(path), () => performance.now());
  let proven = false;
  const observer: LlamaObserver = {
    starting: () => loadLog.started(),
    progress: (fraction) => loadLog.progress(fraction),
    loaded: (model) => {
      proven = true;
      const place = model.gpuLayers > 0 ? `${model.gpuLayers} of ${model.layers + 1} layers on the GPU` : 'on the CPU';
      const context = contextFact({
        wanted: settings.contextsize,
        given: given.has('contextsize'),
        trained: model.trainedContext,
        actual: model.contextSize,
      });
      const facts = [model.description, context, place, `CPU build ${model.cpuVariant}`];
      loadLog.done(facts);
      for (const note of model.notes) terminal.line(note);
      if (adapter.consoleLine) terminal.line(adapter.consoleLine);
    },
    failed: (reason) => loadLog.failed(reason),
    lost: (loss) => terminal.line(lossLine('text', loss, adviceForLosses)),
    note: (text) => terminal.line(text),
    ...(settings.debugmode === 1 ? { line: (line: string) => terminal.line(`llama.cpp: ${line}`) } : {}),
  };
  const engine = new RestingEngine({
    create: () => createTextEngine(settings, given, file, { observer, proven }),
    startTimer: systemTimer,
    now: () => Date.now(),
    onRest: () =>
      terminal.line('The text model was not needed for a while and is unloaded; the next request loads it again.'),
  });
  const quiet = settings.quiet || settings.debugmode === -1 || scripted || settings.cli;
  const requestLog = new RequestLog({
    terminal,
    quiet,
    several: settings.parallelrequests > 1,
    contextSize: () => engine.contextSize(),
    now: () => new Date(),
  });
  const later = (milliseconds: number, action: () => void) => void setTimeout(action, milliseconds).unref();
  const refusalLog = new RefusalLog({
    repeats: new Repeats({ say: (line) => terminal.line(line), later }),
    quiet,
    now: () => new Date(),
    isTold: (error) => requestLog.isTold(error),
  });
  const exit = async (code: number) => {
    await engine.stop();
    process.exit(code);
  };
  const app = createApp({
    settings,
    engine,
    resting: {
      restAfter: (time) => engine.restAfter(time),
      expiresAt: () => engine.expiresAt,
      loaded: () => engine.loaded,
    },
    format,
    product,
    observer: scripted || settings.cli ? {} : requestLog,
    warn: (text) => terminal.line(text),
    onError: (error, { method, path: where }) => {
      terminal.line(`${method} ${printable(where)} failed: ${error instanceof Error ? error.stack : String(error)}`);
    },
    onRefused: (refused) => refusalLog.refused(refused),
    // Its own answer goes out first.
    shutdown: () => setTimeout(() => stop('another instance takes over'), 1000),
  });
  function stop(why: string): void {
    if (served) terminal.line(`Stopping: ${why}. A second signal ends at once.`);
    void app.server.close().then(() => exit(0));
  }
  stops.handle(stop);

  if (path !== undefined) loadLog.begin(path);
  if (served) return serve({ app, engine, settings, terminal, exit: (code) => void exit(code) });

  engine.start();
  await engine.settled();
  if (engine.state().type !== 'ready') return exit(engine.state().type === 'none' ? 2 : 3);
  const maxTokens = Math.min(settings.defaultgenamt, Math.floor(engine.contextSize() / 2));
  if (scripted) {
    const { oneShot } = await import('./run/one-shot.ts');
    await oneShot(app.text, settings.prompt, maxTokens, output);
  } else if (settings.cli) {
    const { terminalChat } = await import('./run/terminal-chat.ts');
    await terminalChat({
      text: app.text,
      tags: adapter.adapter.tags,
      maxTokens,
      input: process.stdin,
      output: process.stdout,
      lost: output.lost,
    });
  } else {
    const { benchmark, benchmarkCsv, benchmarkText } = await import('./run/benchmark.ts');
    const result = await benchmark(app.text);
    terminal.line(benchmarkText(result));
    const target = settings.benchmark;
    if (target && target !== 'stdout') {
      appendFileSync(target, benchmarkCsv(result, new Date().toISOString(), !existsSync(target)));
    }
  }
  await exit(await output.settled(console.error));
}

/** A model that cannot be one ends the program here, before anything is started for it. */
async function modelFile(path: string): Promise<ModelFile> {
  try {
    return await readModelFile(path);
  } catch (error) {
    const reason = (error as Error).message;
    console.error(`${path} could not be loaded: ${reason}`);
    process.exit((error as NodeJS.ErrnoException).code === 'ENOENT' ? 2 : 3);
  }
}

/** A folder that cannot be used ends the program too, before a model is loaded that has nothing to do with it. */
async function checkDiskCache(text: string): Promise<void> {
  const reading = readDiskCache(text);
  if (!reading.ok) return;
  try {
    await tryFolder(resolve(reading.folder), process.pid);
  } catch (error) {
    console.error(`--diskcache: the folder ${reading.folder} cannot be used: ${(error as Error).message}`);
    process.exit(2);
  }
}

async function analyze(path: string): Promise<void> {
  const [{ readGguf }, { describeGguf }] = await Promise.all([import('./gguf/read.ts'), import('./gguf/describe.ts')]);
  try {
    console.log(describeGguf(await readGguf(path)));
  } catch (error) {
    console.error(`${path}: ${(error as Error).message}`);
    process.exit((error as NodeJS.ErrnoException).code === 'ENOENT' ? 2 : 3);
  }
}

function exportConfig(name: string, ending: string, text: string): void {
  const path = name.endsWith(ending) ? name : `${name}${ending}`;
  writeFileSync(path, text);
  console.log(`Written: ${path}`);
}

function raisePriority(terminal: Terminal): void {
  try {
    setPriority(constants.priority.PRIORITY_ABOVE_NORMAL);
  } catch {
    terminal.line('--highpriority: the system does not allow this user a higher priority.');
  }
}

function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
