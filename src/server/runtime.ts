import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Message } from '../chat/messages.ts';
import { aliasRemarks, modelAliases } from '../config/aliases.ts';
import type { FlagKey, Settings } from '../config/flags.ts';
import type { Running } from '../config/load.ts';
import { readDiskCache } from '../config/paths.ts';
import { remoteAddresses } from '../config/remote.ts';
import { readTraceUrl } from '../config/trace.ts';
import { ownFolder } from '../core/data-folder.ts';
import { availableBytes } from '../core/memory.ts';
import { sameName } from '../core/model-names.ts';
import type { Product } from '../core/product.ts';
import type { TextSource, TextState } from '../core/text-service.ts';
import { systemTimer } from '../core/timers.ts';
import { tryFolder } from '../engines/llama/cache-folder.ts';
import { type ModelFile, readModelFile } from '../engines/llama/load-options.ts';
import { mediaPackage, packageFolders } from '../engines/package-folder.ts';
import type { BackendPool } from '../engines/remote/backend-pool.ts';
import { turnLine } from '../inspector/conversations/line.ts';
import { countsTaskModels, givenModels, kindLabels, specsOf } from '../models/engine-kinds.ts';
import { imageEditor } from '../models/image-editor.ts';
import type { UnloadReason } from '../models/lifecycle.ts';
import { memoryBudget } from '../models/memory-budget.ts';
import { hasText, type PreparedModel, prepareModel } from '../models/prepared-model.ts';
import { Registry } from '../models/registry.ts';
import { startsLoaded } from '../models/residence.ts';
import { swapLimits } from '../models/swap-order.ts';
import { displayName, modelPath } from '../models/text-engine.ts';
import { exchangeLog, JsonTerminal } from '../observe/json-log.ts';
import { printable } from '../observe/printable.ts';
import { RateLimitedLog } from '../observe/rate-limited-log.ts';
import { RefusalLog, RequestLog, TaskLog } from '../observe/request-log.ts';
import type { Terminal } from '../observe/terminal.ts';
import type { Tracer } from '../observe/trace/tracer.ts';
import { ownerAccess } from '../protocols/admin/owner.ts';
import { LastModel, type ModelChoice, SavedDownloads, SavedSummaries } from '../store/state-files.ts';
import { SummaryStore } from '../store/summary-store.ts';
import type { App, AppDeps } from './app.ts';
import type { ClientServices } from './client-services.ts';
import { documentFolder, documentServices } from './document-services.ts';
import { openOwnFiles } from './file-services.ts';
import type { Announced } from './lan-server.ts';
import { openMemories } from './memories.ts';
import type { FileLibrary } from './model-library.ts';
import { modelSetup } from './model-setup.ts';
import type { HeldMemory } from './own-machine.ts';
import { peopleServices } from './people-services.ts';
import { preloadedStory } from './preloaded-story.ts';
import type { RoutedApp, Routing } from './routed-app.ts';
import { shutDown } from './shut-down.ts';
import { checked, fileExitCode, StartError } from './start-error.ts';
import { connectToolServers, namedServers, openAllowedServers, toolServerEditor } from './tool-servers.ts';

interface RuntimeOptions {
  readonly settings: Settings;
  readonly given: ReadonlySet<FlagKey>;
  readonly terminal: Terminal;
  readonly product: Product;
  /** Whether a server is started, and not only a mode of the terminal. */
  readonly served: boolean;
  readonly quiet: boolean;
  /** Whether requests are logged on the console. */
  readonly observed: boolean;
}

/** Everything that a mode with a model needs. */
export interface Runtime {
  readonly app: App;
  /** The model of the command line; after the start of the engine, the one that the last run had switched to. */
  readonly model: PreparedModel;
  readonly engine: Pick<ReturnType<typeof startable>, 'start' | 'state'>;
  readonly registry: Registry;
  /** With `--lan`. */
  readonly lan?: Pick<Announced, 'lan' | 'people'>;
  /** Continues the downloads that the last run has not finished. */
  resumeDownloads(): void;
  /** Loads the models of configs with `preload`. */
  preload(): void;
  /** Lets running requests finish, closes the server, ends all engines and the program. */
  stop(why: string): void;
  exit(code: number): Promise<void>;
}

export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { settings, terminal, served } = options;
  const log = (line: string): void => terminal.line(line);
  const pool = await textBackends(settings, terminal);
  const model = await textModel(options, pool);
  const documents =
    served && !settings.nodocuments ? documentServices(documentFolder(settings), () => clients, log) : undefined;
  const clients: ClientServices = served
    ? {
        ...openOwnFiles(settings, () => clients, log),
        memories: openMemories(log),
        ...documents?.clients,
        ...(await clientServices(settings, log)),
        ...(await openAllowedServers(options)),
      }
    : {};
  const lan = served && settings.lan ? await (await import('./lan-server.ts')).openLan(settings, log) : undefined;
  const senders = served ? await peopleServices(settings, log) : undefined;
  const summaries = keptSummaries(options);
  const registry = createRegistry(settings, model, terminal);
  const own = modelSetup(model, registry);
  const lastModel = lastModelFile(options, model);
  const choice = await lastModel?.read();
  const engine = startable(model, own.source);
  // The model loads while the rest is set up. With --singleinstance an older instance has to stop first: both may not fit.
  if (!choice && startsLoaded(settings) && !settings.singleinstance) void engine.start();
  const tools = served ? await toolServers(options) : undefined;
  const tracer = served ? await openTracer(options) : undefined;
  const { createApp } = await import('./app.ts');
  const build = (routing: Partial<Routing> = {}): App =>
    createApp({
      ...own,
      ...routing,
      ...logs(options, pool),
      tracer,
      memory: registry,
      tools: tools?.pool,
      toolEditor: tools?.editor,
      clients,
      documentTotals: documents?.totals,
      lan,
      ...senders,
      summaries,
      product: options.product,
      log: terminal.log,
      hasTaskModels: () => countsTaskModels(model.taskModels, registry.list()),
      // The answer is sent first.
      shutdown: () => setTimeout(() => stop('another instance takes over'), 1000),
    });
  const { app, restore, preload, resumeDownloads } = await routedApp(options, {
    model,
    pool,
    registry,
    lastModel,
    loads: choice?.loads,
    build,
  });
  documents?.bind({ embedding: () => app.context.taskServices.embedding, requestQueue: app.requestQueue });
  if (choice && restore) engine.restoreWith(() => restore(choice), registry);
  const exit = async (code: number): Promise<void> => {
    await Promise.all([
      registry.close(),
      imageEditor.stop(),
      documents?.stop(),
      senders?.usage.save(),
      summaries.saved(),
      tools && Promise.race([tools.pool.close(), wait(toolsClosingMs)]),
    ]);
    // The requests that have just ended have spans, too.
    await tracer?.close();
    process.exit(code);
  };
  function stop(why: string): void {
    if (served) terminal.line(`Stopping: ${why}.`, { event: 'stop' });
    const { server, requestQueue } = app;
    void shutDown({
      server,
      requestQueue,
      timeoutSeconds: settings.shutdowntimeout,
      log,
      wait: (milliseconds, signal) => wait(milliseconds, undefined, { signal }),
    }).then(() => exit(0));
  }
  return {
    app,
    engine,
    registry,
    stop,
    exit,
    ...(lan && { lan: { lan, people: senders?.people } }),
    resumeDownloads: () => void resumeDownloads?.(),
    preload: () => void Promise.all([preload?.(), documents?.resume()]),
    get model() {
      return engine.model();
    },
  };
}

/** Flags that choose a text model, or that none is loaded at the start: they win over the model of the last switch. */
const modelChoices: readonly FlagKey[] = ['model', 'nomodel', 'config', 'remote', 'engine', 'autoswapmode'];

/**
 * Named by the port, so that two servers have two models. Undefined if nothing is remembered: a switch would drop the models of
 * other kinds that flags name, too.
 */
function lastModelFile(options: RuntimeOptions, { taskModels }: PreparedModel): LastModel | undefined {
  const { settings, given, served, terminal } = options;
  const { port } = settings;
  const chosen = modelChoices.some((key) => given.has(key)) || givenModels(taskModels).length > 0;
  if (!served || !isManaged(settings) || port === 0 || chosen) return undefined;
  return new LastModel(stateFile(`model-${port}`, terminal));
}

/** In a file named by the port, unless nothing that people write may be kept. */
function keptSummaries({ settings, served, quiet, terminal }: RuntimeOptions): SummaryStore<Message> {
  const { port, noagentreport } = settings;
  const isKept = served && port !== 0 && !quiet && !noagentreport;
  const file = isKept ? new SavedSummaries(stateFile(`summaries-${port}`, terminal)) : undefined;
  return new SummaryStore({ file, now: () => Date.now() });
}

function stateFile(name: string, terminal: Terminal) {
  const path = join(ownFolder('state'), `${name}.json`);
  return { path, warn: (sentence: string) => terminal.line(sentence), now: () => new Date() };
}

/** Whether models can be switched and downloaded: with `--admin`, or by the owner in the page. */
function isManaged(settings: Settings): boolean {
  return settings.admin || ownerAccess(settings, () => '').type === 'page';
}

/** Tool servers that have not stopped by then are ended by their guard process. */
const toolsClosingMs = 1000;

/** The remote backends for text; undefined if there are none. */
async function textBackends(settings: Settings, terminal: Terminal): Promise<BackendPool | undefined> {
  if (remoteAddresses(settings.remote, 'text').length === 0) return undefined;
  const { firstLook, textPool } = await import('../models/remote-models.ts');
  const pool = textPool(settings, terminal);
  if (pool) await firstLook(pool);
  return pool;
}

/** The text model of the command line: a file, a model on a remote backend, or none. */
async function textModel(
  { settings, given, terminal }: RuntimeOptions,
  pool: BackendPool | undefined,
): Promise<PreparedModel> {
  if (settings.engine) {
    const { prepareProgram, servedProgram } = await import('../models/program-models.ts');
    const program = servedProgram(settings);
    if (program && (program.program.name === undefined || !pool)) {
      return prepareProgram(program, { settings, given }, terminal);
    }
  }
  if (pool) {
    const { prepareRemote, servesRemote } = await import('../models/remote-models.ts');
    const model = pool.models()[0]?.name;
    if (servesRemote(settings)) return prepareRemote({ settings, given, pool, model }, terminal);
  }
  const path = modelPath(settings);
  if (path === undefined) return prepareModel({ name: '', settings, given, file: undefined }, terminal);
  const file = await readModelFile(path).catch((error: Error) => {
    throw new StartError(`${path} could not be loaded: ${error.message}`, fileExitCode(error));
  });
  if (settings.diskcache !== '') await checkDiskCache(settings.diskcache);
  const settled = await settle({ settings, given }, file, { terminal });
  return prepareModel({ name: displayName(path), settings: settled, given, file }, terminal);
}

function createRegistry(settings: Settings, model: PreparedModel, terminal: Terminal): Registry {
  const registry: Registry = new Registry({
    memoryBudget: () => memoryBudget(settings, () => registry),
    availableBytes,
    swapLimits: swapLimits(settings),
    startTimer: systemTimer,
    now: () => Date.now(),
    defaultKeepMs: () =>
      settings.adminunloadtimeout > 0 ? settings.adminunloadtimeout * 1000 : Number.POSITIVE_INFINITY,
    observer: {
      left: (name, why) => {
        const reason = unloadReasons[why];
        if (reason) terminal.line(`${name} ${reason}`, { event: 'unload', model: name });
      },
    },
  });
  if (hasText(model)) registry.add(model.spec);
  return registry;
}

const unloadReasons: Partial<Record<UnloadReason, string>> = {
  idle: 'was not needed for a while and is unloaded; the next request loads it again.',
  used: 'is unloaded at once, as the request (keep_alive, ttl) or its config (idle) says; the next request loads it again.',
  memory: 'is unloaded to make room; the next request for it loads it again.',
};

/** The text model of the start, which is started once. */
function startable(model: PreparedModel, source: TextSource) {
  let present = { model, source };
  let restored = async (): Promise<void> => undefined;
  let started: Promise<void> | undefined;
  const load = async (): Promise<void> => {
    await restored();
    await present.source.use().then(
      ({ release }) => release(),
      // Its state says how it failed.
      () => undefined,
    );
  };
  return {
    /** Resolves when it is loaded, or has failed: see its state. */
    start: () => (started ??= load()),
    state: (): TextState => present.source.state(),
    model: () => present.model,
    /** Before the start: what the last run had switched to is started instead; the model itself if that is not possible. */
    restoreWith: (restore: () => Promise<PreparedModel>, registry: Registry): void => {
      restored = async () => {
        const model = await restore();
        present = { model, source: modelSetup(model, registry).source };
      };
    },
  };
}

/** What the console shows of requests. */
function logs(
  { settings, terminal, quiet, observed }: RuntimeOptions,
  pool: BackendPool | undefined,
): Pick<AppDeps, 'observer' | 'taskObserver' | 'turnEnded' | 'exchangeLog' | 'warn' | 'onError' | 'onRefused'> {
  const now = () => new Date();
  const log = (line: string) => terminal.line(line);
  const onError: AppDeps['onError'] = (error, { method, path, id }) => {
    const named = id === undefined ? '' : ` (${id})`;
    const reason = error instanceof Error ? error.stack : String(error);
    terminal.line(`${method} ${printable(path)} failed${named}: ${reason}`, { level: 'error', request_id: id });
  };
  // A line per request has everything that the other logs tell.
  if (terminal instanceof JsonTerminal)
    return { observer: {}, exchangeLog: exchangeLog(terminal, { quiet }), warn: log, onError };
  const several = settings.parallelrequests > 1 || pool !== undefined;
  const turnsReported = observed && !settings.noagentreport;
  const requestLog = new RequestLog({ terminal, quiet, several, turnsReported, now });
  const turnEnded: AppDeps['turnEnded'] = (conversation, turn, speed) => {
    const line = turnLine(conversation, turn, { now: now(), quiet, speed });
    if (line !== undefined) terminal.line(line);
  };
  const wasLogged: RequestLog['wasLogged'] = (error) => requestLog.wasLogged(error);
  const refusalLog = new RefusalLog({ log: new RateLimitedLog({ log: log }), quiet, now, wasLogged });
  return {
    observer: observed ? requestLog : {},
    turnEnded: turnsReported ? turnEnded : undefined,
    taskObserver: new TaskLog(terminal, kindLabels),
    warn: log,
    onError,
    onRefused: (refused) => refusalLog.refused(refused),
  };
}

interface RoutedOptions {
  readonly model: PreparedModel;
  readonly pool: BackendPool | undefined;
  readonly registry: Registry;
  readonly lastModel: LastModel | undefined;
  readonly loads: ModelChoice['loads'];
  readonly build: (routing?: Partial<Routing>) => App;
}

/** The server, with a model router if models can be swapped or chosen by name. */
async function routedApp(
  { settings, given, terminal, served }: RuntimeOptions,
  { model, pool, registry, lastModel, loads, build }: RoutedOptions,
): Promise<Pick<RoutedApp, 'app'> & Partial<RoutedApp> & { readonly resumeDownloads?: () => Promise<void> }> {
  const programs = settings.engine
    ? (await import('../models/program-models.ts')).programOffers({ settings, given }, terminal)
    : undefined;
  const isOther = programs?.().some(({ names: [name] }) => name !== model.name) ?? false;
  const several = isOther || (pool !== undefined && (model.file !== undefined || pool.models().length > 1));
  const managed = isManaged(settings);
  if (served && (managed || settings.routermode || several)) {
    const { createRoutedApp } = await import('./routed-app.ts');
    const remotes =
      pool && (settings.routermode || several)
        ? (await import('../models/remote-models.ts')).remoteOffers({ settings, given, pool }, terminal)
        : undefined;
    const byName = remotes || (programs && (settings.routermode || several));
    const remoteModels = byName ? () => [...(remotes?.() ?? []), ...(programs?.() ?? [])] : undefined;
    // Named by the port, so that two servers do not resume the same download.
    const saved =
      settings.port === 0 ? undefined : new SavedDownloads(stateFile(`downloads-${settings.port}`, terminal));
    let library: Promise<FileLibrary> | undefined;
    const loadLibrary = () => (library ??= libraryOf(settings, saved, registry));
    const routed = await createRoutedApp({
      initial: { settings, given },
      first: model,
      registry,
      terminal,
      build,
      remoteModels,
      library: managed ? loadLibrary : undefined,
      lastModel,
      loads,
      settle: (running, file, downloaded) => settle(running, file, { registry, terminal, downloaded }),
    });
    const resumeDownloads = async (): Promise<void> => {
      if (managed && ((await saved?.read()) ?? []).length > 0) await loadLibrary();
    };
    return { ...routed, resumeDownloads };
  }
  if (served && settings.compactmodel !== '' && !sameName(settings.compactmodel, model.name)) {
    const { unknownCompactModel } = await import('./routed-app.ts');
    throw new StartError(unknownCompactModel(settings.compactmodel, false), 2);
  }
  const names = [model.name, ...specsOf(model.taskModels).map((spec) => spec.name)];
  for (const line of aliasRemarks(modelAliases(settings.modelalias), names)) terminal.line(line);
  return { app: build() };
}

/** Loaded on first use: most runs of a server neither list nor download models. It goes on with the downloads of the last run. */
async function libraryOf(
  settings: Settings,
  saved: SavedDownloads | undefined,
  registry: Registry,
): Promise<FileLibrary> {
  const { modelLibrary } = await import('./model-library.ts');
  const library = modelLibrary(settings, saved, () => heldMemory(registry));
  void library.downloads.restore();
  return library;
}

async function heldMemory(registry: Registry): Promise<HeldMemory> {
  const loaded = registry.list().filter(({ resident }) => resident);
  return { mainBytes: loaded.reduce((sum, { bytes = 0 }) => sum + bytes, 0), gpus: await registry.gpus() };
}

interface SettleOptions {
  readonly terminal: Terminal;
  /** What its models hold is given back when another one is loaded, except in router mode. */
  readonly registry?: Registry;
  /** Whether the model is a file that may have been downloaded with a projector. */
  readonly downloaded?: boolean;
}

/** The settings of a model where its flags leave them to the file and to the memory of this machine. */
async function settle(running: Running, file: ModelFile, options: SettleOptions): Promise<Settings> {
  const { given } = running;
  const { terminal, registry, downloaded = false } = options;
  const line = (text: string) => terminal.line(text);
  const projector = downloaded ? await import('./downloaded-model.ts') : undefined;
  const hasVision = () => packageFolders(mediaPackage).length > 0;
  const settings = (await projector?.withProjector(running.settings, file, { hasVision, line })) ?? running.settings;
  const { fittedContext } = await import('./fitted-context.ts');
  const held = registry && !settings.routermode ? () => heldMemory(registry) : undefined;
  const memory = async () => {
    const { ownMachine } = await import('./own-machine.ts');
    return ownMachine(settings, held).memory();
  };
  const { size, reason } = await fittedContext({ settings, given }, file, memory);
  if (reason !== undefined) line(reason);
  return { ...settings, contextsize: size };
}

async function toolServers({ settings, product, terminal }: RuntimeOptions) {
  const options = { settings, product, environment: process.env, log: (line: string) => terminal.line(line) };
  const configs = await checked(() => namedServers(options));
  if (configs.length === 0 && !settings.admin) return undefined;
  const pool = await connectToolServers(configs, options);
  return { pool, editor: settings.admin ? await toolServerEditor(pool, options) : undefined };
}

async function checkDiskCache(text: string): Promise<void> {
  const reading = readDiskCache(text);
  if (!reading.ok) return;
  await tryFolder(resolve(reading.folder), process.pid).catch(({ message }: Error) => {
    throw new StartError(`--diskcache: the folder ${reading.folder} cannot be used: ${message}`, 2);
  });
}

/** Traces for the collector of `--trace`. */
async function openTracer({ settings, product, terminal }: RuntimeOptions): Promise<Tracer | undefined> {
  const reading = settings.trace === '' ? undefined : readTraceUrl(settings.trace);
  if (!reading?.ok) return undefined;
  const { createTracer, otlpHeaders } = await import('../observe/trace/tracer.ts');
  const { OTEL_EXPORTER_OTLP_TRACES_HEADERS: own, OTEL_EXPORTER_OTLP_HEADERS: common = '' } = process.env;
  return createTracer({
    url: reading.url,
    headers: otlpHeaders(own ?? common),
    resource: { service: process.env.OTEL_SERVICE_NAME || 'parley', version: product.version },
    log: (line) => terminal.line(line, { level: 'warn' }),
  });
}

/** Save slots, multiplayer stories and web search, if flags enable them. */
function clientServices(settings: Settings, warn: (sentence: string) => void): Promise<ClientServices> {
  return checked(async () => {
    preloadedStory(settings.preloadstory);
    if (settings.savedatafile === '' && !settings.multiplayer && !settings.websearch) return {};
    const { openClientServices } = await import('./client-services.ts');
    return openClientServices(settings, { folder: ownFolder('stories'), warn });
  });
}
