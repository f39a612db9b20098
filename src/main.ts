#!/usr/bin/env node
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { constants, homedir, setPriority } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { aliasRemarks, modelAliases } from './config/aliases.ts';
import type { FlagKey, Settings } from './config/flags.ts';
import { type Loaded, loadSettings } from './config/load.ts';
import { readDiskCache } from './config/paths.ts';
import type { TextSource } from './core/text-source.ts';
import { tryFolder } from './engines/llama/cache-folder.ts';
import { type ModelFile, readModelFile } from './engines/llama/model-file.ts';
import { requestScope } from './http/request-scope.ts';
import { systemTimer } from './http/timers.ts';
import { wantsLauncher } from './launcher/wanted.ts';
import { ownFolder } from './library/places.ts';
import type { ModelKinds } from './models/kinds.ts';
import type { UnloadReason } from './models/lifecycle.ts';
import { memoryBudget } from './models/memory-budget.ts';
import { pictureEditor } from './models/picture-editor.ts';
import { hasText, prepareModel } from './models/prepared-model.ts';
import { Registry, type RegistryObserver } from './models/registry.ts';
import { firstLook, prepareRemote, remoteOffers, servesRemote, textPool } from './models/remote-models.ts';
import { countsOthers, givenModels, specsOf } from './models/task-models.ts';
import { displayName, modelPath, type TextEngineProcess } from './models/text-engine.ts';
import { welcome } from './observe/banner.ts';
import { printable } from './observe/printable.ts';
import { Repeats } from './observe/repeats.ts';
import { RefusalLog, RequestLog, TaskLog } from './observe/request-log.ts';
import { streamOutput, Terminal } from './observe/terminal.ts';
import type { App } from './server/app.ts';
import type { ClientServices } from './server/client-services.ts';
import { guardFaults } from './server/guard-faults.ts';
import { modelParts } from './server/model-parts.ts';
import { preloadedStory } from './server/preloaded-story.ts';
import { ReachedOutput } from './server/reached-output.ts';
import type { Routing } from './server/routed-app.ts';
import { serve } from './server/serve.ts';
import { launcherVariable, Stops } from './server/stops.ts';
import { connectToolServers, namedServers } from './server/tool-servers.ts';

// A log that nobody can write to any more must not end the program; whoever needs it to be read watches for itself.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

const stops = new Stops(process, (code) => process.exit(code));
// It is for this process alone, and not for those that it starts.
delete process.env[launcherVariable];

const product = { name: 'Parley', version: packageVersion() };

await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
});

async function main(words: readonly string[]): Promise<void> {
  if (words[0] === 'models' || words[0] === 'pull' || words[0] === 'pack') {
    process.exitCode = await libraryCommand(words[0], words.slice(1));
    return;
  }
  const loaded = loadSettings({
    arguments: words,
    environment: process.env,
    readFile: (path) => readFileSync(path, 'utf8'),
    exists: existsSync,
  });
  if (await launcherInstead(words, loaded)) return;
  if (loaded.type === 'refused') {
    for (const line of [...loaded.notes, ...loaded.problems.map(({ sentence }) => sentence)]) console.error(line);
    process.exit(loaded.exitCode);
  }
  const { settings, given, notes } = loaded;
  const output = new ReachedOutput(process.stdout);
  if (await inform(settings)) process.exitCode = await output.settled(console.error);
  else await run(settings, given, notes, output);
}

/** The launcher, where one is wanted. What is wrong with the flags can be seen and put right there. */
async function launcherInstead(words: readonly string[], loaded: Loaded): Promise<boolean> {
  const { settings, notes } = loaded;
  const refused = loaded.type === 'refused';
  const said = refused ? settings : (loaded.beforeRules ?? settings);
  const { showgui, skiplauncher } = settings;
  const given = words.length > 0 || (!refused && loaded.given.size > 0);
  const { env: environment, platform } = process;
  if (settings.help || settings.version || !wantsLauncher({ showgui, skiplauncher, given, environment, platform }))
    return false;
  const terminal = new Terminal(streamOutput(process.stdout, { moving: true }));
  for (const line of welcome(product.version)) terminal.line(line);
  const { launcher } = await import('./server/launcher.ts');
  const wrong = refused ? loaded.problems.map(({ sentence }) => sentence) : [];
  const exit = (code: number): void => process.exit(code);
  await launcher({ product, settings: said, notes: [...wrong, ...notes], terminal, stops, exit });
  return true;
}

/** `parley models`, `parley pull` and `parley pack`: what is on this machine, and fetching more. */
async function libraryCommand(command: 'models' | 'pull' | 'pack', words: readonly string[]): Promise<number> {
  const terminal = new Terminal(streamOutput(process.stdout, { moving: true }));
  const { knownPlaces } = await import('./library/places.ts');
  const surroundings = { home: homedir(), platform: process.platform, environment: process.env };
  if (command === 'models') {
    const { modelsCommand } = await import('./server/models-command.ts');
    return modelsCommand({ words, places: knownPlaces(surroundings), terminal });
  }
  const stop = new AbortController();
  stops.handle(() => stop.abort(new Error('it was stopped; the same command goes on from there')));
  const parts = { words, terminal, fetch, signal: stop.signal, now: () => performance.now() };
  if (command === 'pack') {
    const { packCommand } = await import('./server/pack-command.ts');
    return packCommand({ ...parts, folder: ownFolder(surroundings, 'packs') });
  }
  const { pullCommand } = await import('./server/pull-command.ts');
  return pullCommand({ ...parts, folder: ownFolder(surroundings), environment: process.env });
}

/** The modes that only tell or write something; false where none of them is asked for. */
async function inform(settings: Settings): Promise<boolean> {
  if (settings.help) await help();
  else if (settings.version) console.log(product.version);
  else if (settings.analyze) await analyze(settings.analyze);
  else if (settings.exportconfig) await exportConfig(settings.exportconfig, '.kcpps', settings);
  else if (settings.exporttemplate) await exportConfig(settings.exporttemplate, '.kcppt', settings);
  else return false;
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

  findPacks();
  const pool = textPool(settings, terminal);
  if (pool) await firstLook(pool);
  const elsewhere = pool && servesRemote(settings) ? { settings, given, pool } : undefined;
  const path = elsewhere ? undefined : modelPath(settings);
  const file = path === undefined ? undefined : await modelFile(path);
  if (file && settings.diskcache !== '') await checkDiskCache(settings.diskcache);
  const clients = served ? await clientServices(settings, terminal) : {};
  const toolParts = { settings, product, environment: process.env, say: (line: string) => terminal.line(line) };
  const toolConfigs = served ? checkToolServers(toolParts) : [];
  const name = path === undefined ? '' : displayName(path);
  const model = elsewhere
    ? await prepareRemote({ ...elsewhere, model: elsewhere.pool.models()[0]?.name }, terminal)
    : await prepareModel({ name, settings, given, file }, terminal);
  const registry: Registry<ModelKinds> = new Registry<ModelKinds>(
    { specs: hasText(model) ? [model.spec] : [], usual: hasText(model) ? { text: model.name } : {} },
    {
      room: () => memoryBudget(settings, () => registry),
      startTimer: systemTimer,
      now: () => Date.now(),
      defaultKeepMs: () =>
        settings.adminunloadtimeout > 0 ? settings.adminunloadtimeout * 1000 : Number.POSITIVE_INFINITY,
      observer: leavingLines(terminal),
    },
  );
  const parts = modelParts(model, registry);
  const { source } = parts;
  const engine = startable(source);
  // The model comes in beside the rest of the program. An older instance has to go first: there may be no room for both.
  if (!settings.autoswapmode && !settings.singleinstance) engine.start();
  const { createApp } = await import('./server/app.ts');
  const quiet = settings.quiet || settings.debugmode === -1 || scripted || settings.cli;
  const requestLog = new RequestLog({
    terminal,
    quiet,
    several: settings.parallelrequests > 1 || pool !== undefined,
    now: () => new Date(),
  });
  const later = (milliseconds: number, action: () => void) => void setTimeout(action, milliseconds).unref();
  const refusalLog = new RefusalLog({
    repeats: new Repeats({ say: (line) => terminal.line(line), later }),
    quiet,
    now: () => new Date(),
    isTold: (error) => requestLog.isTold(error),
  });
  const tools = toolConfigs.length > 0 ? await connectToolServers(toolConfigs, toolParts) : undefined;
  const exit = async (code: number) => {
    await Promise.all([
      registry.close(),
      pictureEditor.stop(),
      tools && Promise.race([tools.close(), wait(toolFarewellMs)]),
    ]);
    process.exit(code);
  };
  const build = (routing: Partial<Routing> = {}): App =>
    createApp({
      ...parts,
      ...routing,
      tools,
      hasOthers: () => countsOthers(model.others, registry.list()),
      product,
      clients,
      observer: scripted || settings.cli ? {} : requestLog,
      taskObserver: new TaskLog(terminal),
      warn: (text) => terminal.line(text),
      onError: (error, { method, path: where }) => {
        terminal.line(`${method} ${printable(where)} failed: ${error instanceof Error ? error.stack : String(error)}`);
      },
      onRefused: (refused) => refusalLog.refused(refused),
      // Its own answer goes out first.
      shutdown: () => setTimeout(() => stop('another instance takes over'), 1000),
    });
  const initial = { settings, given };
  // A name chooses where there is something to choose from.
  const several = pool !== undefined && (file !== undefined || pool.models().length > 1);
  const isRouted = served && (settings.admin || settings.routermode || several);
  const offers =
    pool && (settings.routermode || several) ? remoteOffers({ settings, given, pool }, terminal) : undefined;
  const routed = { initial, first: model, registry, terminal, build, elsewhere: offers };
  const app = isRouted ? await (await import('./server/routed-app.ts')).createRoutedApp(routed) : build();
  if (!isRouted) {
    const names = [model.name, ...specsOf(model.others).map((spec) => spec.name)];
    for (const line of aliasRemarks(modelAliases(settings.modelalias), names)) terminal.line(line);
  }
  function stop(why: string): void {
    if (served) terminal.line(`Stopping: ${why}. A second signal ends at once.`);
    void app.server.close().then(() => exit(0));
  }
  stops.handle(stop);

  if (served) {
    const others = givenModels(model.others).map(({ spec: { kind, name: other }, optional = false }) => ({
      name: other,
      optional,
      load: () => registry.load(kind, other),
    }));
    const listening = (): void =>
      guardFaults({ process, scope: () => requestScope.getStore(), say: (line) => terminal.line(line), later });
    return serve({ app, engine, others, settings, terminal, exit: (code) => void exit(code), listening });
  }

  engine.start();
  await engine.settled();
  if (engine.state().type !== 'ready') return exit(engine.state().type === 'none' ? 2 : 3);
  const maxTokens = Math.min(settings.defaultgenamt, Math.floor(source.contextSize() / 2));
  if (scripted) {
    const { oneShot } = await import('./server/one-shot.ts');
    await oneShot(app.context.text, settings.prompt, maxTokens, output);
  } else if (settings.cli) {
    const { terminalChat } = await import('./server/terminal-chat.ts');
    await terminalChat({
      text: app.context.text,
      tags: model.format.adapter.adapter.tags,
      maxTokens,
      input: process.stdin,
      output: process.stdout,
      lost: output.lost,
    });
  } else {
    const { benchmark, benchmarkCsv, benchmarkText } = await import('./server/benchmark.ts');
    const result = await benchmark(app.context.text);
    terminal.line(benchmarkText(result));
    const target = settings.benchmark;
    if (target && target !== 'stdout') {
      appendFileSync(target, benchmarkCsv(result, new Date().toISOString(), !existsSync(target)));
    }
  }
  await exit(await output.settled(console.error));
}

/** Engines look there for what was fetched for them; a folder that the person names wins. */
function findPacks(): void {
  const folder = ownFolder({ home: homedir(), platform: process.platform, environment: process.env }, 'packs');
  if (existsSync(folder)) process.env.PARLEY_PACKS = folder;
}

/** The model of the command line as something to be started and waited for. */
function startable(source: TextSource): Pick<TextEngineProcess, 'start' | 'settled' | 'state'> {
  let started: Promise<void> | undefined;
  return {
    start: () => {
      // How it failed stands in its state.
      started ??= source.use().then(
        ({ release }) => release(),
        () => undefined,
      );
    },
    settled: async () => started,
    state: () => source.state(),
  };
}

function leavingLines(terminal: Terminal): RegistryObserver {
  const reasons: Partial<Record<UnloadReason, string>> = {
    idle: 'was not needed for a while and is unloaded; the next request loads it again.',
    room: 'is unloaded to make room; the next request for it loads it again.',
  };
  return {
    left: (name, why) => {
      const reason = reasons[why];
      if (reason) terminal.line(`${name} ${reason}`);
    },
  };
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

/** What is left of them after this is ended by the guard beside them. */
const toolFarewellMs = 1000;

/** A file that cannot be used ends the program in the same way. */
function checkToolServers(parts: Parameters<typeof namedServers>[0]): ReturnType<typeof namedServers> {
  try {
    return namedServers(parts);
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
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

/** So do stories that cannot be read, and places where none can be kept. */
async function clientServices(settings: Settings, terminal: Terminal): Promise<ClientServices> {
  const surroundings = { home: homedir(), platform: process.platform, environment: process.env };
  try {
    preloadedStory(settings.preloadstory);
    if (settings.savedatafile === '' && !settings.multiplayer && !settings.websearch) return {};
    const { openClientServices } = await import('./server/client-services.ts');
    const folder = ownFolder(surroundings, 'stories');
    return await openClientServices(settings, { folder, warn: (sentence) => terminal.line(sentence) });
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}

async function help(): Promise<void> {
  const { helpText } = await import('./config/help.ts');
  console.log(helpText(process.stdout.columns ?? 100));
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

async function exportConfig(name: string, ending: '.kcpps' | '.kcppt', settings: Settings): Promise<void> {
  const { writeConfigFile } = await import('./config/config-file.ts');
  const path = name.endsWith(ending) ? name : `${name}${ending}`;
  writeFileSync(path, writeConfigFile(settings, ending === '.kcpps' ? 'config' : 'template'));
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
