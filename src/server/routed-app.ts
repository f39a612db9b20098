import { join } from 'node:path';
import { aliasRemarks, modelAliases } from '../config/aliases.ts';
import { type Running, reloadSettings } from '../config/load.ts';
import { loadLayer, loadSettingsOf, readLoadSettings } from '../config/load-settings.ts';
import { AppError, asAppError } from '../core/errors.ts';
import { uniqueNames } from '../core/model-names.ts';
import type { LoadSettings, LoadStatus, SwapFailure } from '../core/models-view.ts';
import { systemTimer } from '../core/timers.ts';
import { readModelFile } from '../engines/llama/load-options.ts';
import {
  adminFiles,
  adminTarget,
  fileOfFolder,
  initialModel,
  isModelFile,
  listedFile,
  modelsFolder,
  optionNames,
  unloadModel,
} from '../models/admin-options.ts';
import { specsOf } from '../models/engine-kinds.ts';
import { reasonOf } from '../models/load-errors.ts';
import type { ModelOffer } from '../models/model-instance.ts';
import { hasText, type PreparedModel, prepareModel } from '../models/prepared-model.ts';
import { PresetFiles, presetOffers } from '../models/presets.ts';
import type { Registry } from '../models/registry.ts';
import type { Arrival } from '../models/registry-source.ts';
import { isWarmName, modelAlias, pinProblem, preloadAll } from '../models/residence.ts';
import { ModelRouter } from '../models/router.ts';
import { modelPath } from '../models/text-engine.ts';
import type { Terminal } from '../observe/terminal.ts';
import type { LastModel, ModelChoice } from '../store/state-files.ts';
import type { App, AppDeps } from './app.ts';
import { FileVersions } from './file-versions.ts';
import { configSources, preloadedConfigs, prepareOption, type Settle, saveConfig } from './model-configs.ts';
import type { ModelContext } from './model-context.ts';
import type { FileLibrary } from './model-library.ts';
import { modelSetup } from './model-setup.ts';
import { presetStore } from './preset-store.ts';
import { slowModelAdvice } from './slow-model.ts';
import { StartError } from './start-error.ts';

interface RoutedDeps {
  readonly initial: Running;
  readonly first: PreparedModel;
  readonly registry: Registry;
  readonly terminal: Terminal;
  /** The models of remote backends and engine programs, by name. */
  readonly remoteModels?: (() => readonly ModelOffer[]) | undefined;
  /** Loads the library of the models on this machine, where they are managed. */
  readonly library?: (() => Promise<FileLibrary>) | undefined;
  /** Where the model that was switched to is remembered. */
  readonly lastModel?: Pick<LastModel, 'write'> | undefined;
  readonly settle?: Settle;
  /** Load settings by option, as they were remembered. */
  readonly loads?: ModelChoice['loads'];
  /** Nothing is selected before this function returns. */
  readonly build: (routing: Routing) => App;
}

export type Routing = Required<
  Pick<AppDeps, 'resolve' | 'auxiliaryModel' | 'models' | 'presentSettings' | 'library' | 'slowReply'>
>;

export type RoutedApp = Awaited<ReturnType<typeof createRoutedApp>>;

/** A server whose model can be swapped (`--admin`), or that has several by name (`--routermode`, `--remote`). */
export async function createRoutedApp(deps: RoutedDeps) {
  const { initial, first, registry, terminal, remoteModels, library, lastModel, build } = deps;
  const { settings } = initial;
  const folder = modelsFolder(settings);
  const log = (line: string) => terminal.line(line);
  const skippedLinks = new Set<string>();
  const links = {
    allowLinks: settings.adminallowlinks,
    onSkipped: (name: string): void => {
      if (!skippedLinks.has(name))
        log(
          `The link ${name} in --admindir leads out of that folder and is skipped; --adminallowlinks offers such files.`,
        );
      skippedLinks.add(name);
    },
  };
  const byName = settings.routermode || remoteModels !== undefined;
  // Without names for all models, presets of the model in use still have theirs.
  const presetsOnly = !byName && library !== undefined;
  const versions = new FileVersions(() => Date.now());
  const presetFiles = new PresetFiles(folder);
  let firstNow = first;
  let failure: SwapFailure | undefined;
  let pendingSwaps = 0;
  let seen: { readonly at: number; readonly files: Promise<readonly string[]> } | undefined;
  let advice: { readonly model: PreparedModel; readonly text: string } | undefined;
  const loads = new Map(Object.entries(deps.loads ?? {}).map(([option, load]) => [option, rememberedLoad(load)]));
  /** Where a model came from, as long as it is in use. */
  const choices = new WeakMap<PreparedModel, ModelChoice>([[first, { option: initialModel }]]);
  /** Engines are chosen when a model is prepared. */
  const preparedAt = new WeakMap<PreparedModel, number>();
  if (first.file) versions.note(first, versions.of([first.file.path]), firstAgain);

  async function firstAgain(): Promise<PreparedModel> {
    const at = Date.now();
    const file = first.file && (await readModelFile(first.file.path));
    const own = file && deps.settle ? await deps.settle(initial, file, false) : settings;
    firstNow = await prepareModel({ ...initial, settings: own, name: first.name, file }, terminal);
    choices.set(firstNow, { option: initialModel });
    preparedAt.set(firstNow, at);
    return firstNow;
  }

  const listFiles = () => adminFiles(folder, links);

  /** The folder may be any working directory, and every request that names a model looks into it. */
  async function seenFiles(): Promise<readonly string[]> {
    if (!seen || performance.now() - seen.at >= seenMs) seen = { at: performance.now(), files: listFiles() };
    return seen.files;
  }

  async function namesOf(files: readonly string[]): Promise<ReturnType<typeof optionNames>> {
    if (!hasText(first)) return optionNames(files);
    const file = first.file && (await fileOfFolder(folder, files, first.file.path));
    return optionNames(files, { name: first.name, file });
  }

  async function prepared(
    option: string,
    { name: named, base, load = loads.get(option) ?? {}, again = false }: PrepareOptions = {},
  ): Promise<PreparedModel> {
    const basePath = base === undefined ? undefined : await listedFile(folder, base, links);
    if (base !== undefined && basePath === undefined) throw new AppError('model-not-found', { model: base });
    const listed = (await listFiles()).includes(option) ? undefined : await (await library?.())?.find(option);
    const target = listed ? ({ type: 'model', path: listed.path } as const) : await adminTarget(folder, option, links);
    if (!target) throw new AppError('model-not-found', { model: option });
    const own = loadLayer(load);
    if (target.type === 'initial' && own.size === 0) return again ? firstAgain() : firstNow;
    const below = basePath ?? (settings.baseconfig || undefined);
    const configs = await versions.of([below, target.type === 'config' ? target.path : undefined]);
    const loaded = reloadSettings(target, below, initial, configSources, own);
    if (loaded.type === 'refused') {
      const reason = loaded.problems.map(({ sentence }) => sentence).join(' ');
      throw new AppError('model-load-failed', { model: option, reason });
    }
    const isFirst = target.type === 'initial' ? first.name : undefined;
    const name = named ?? isFirst ?? listed?.name ?? (await namesOf(await listFiles())).get(option)?.[0] ?? option;
    const all = { ...configs, ...(await versions.of([modelPath(loaded.settings)])) };
    const at = Date.now();
    const model = await prepareOption(name, loaded, terminal, deps.settle, target.type === 'model');
    preparedAt.set(model, at);
    choices.set(model, { option, base });
    versions.note(model, all, () => prepared(option, { name, base }));
    return model;
  }

  async function offers(): Promise<readonly ModelOffer[]> {
    const { routermode } = settings;
    if (!routermode && !library) return remoteOffers([]);
    const files = await (routermode ? listFiles() : seenFiles());
    const [names, presets] = await Promise.all([namesOf(files), presetFiles.among(files)]);
    const models = files.filter((file) => !presets.some((preset) => preset.file === file));
    const local = routermode ? localOffers(models, names) : [];
    const others = [...local, ...remoteOffers(local)];
    const present = routermode ? first : router.defaultModel;
    const bases = [...(hasText(present) ? [[present.name]] : []), ...others.map((offer) => offer.names)];
    return [
      ...others,
      ...presetOffers(presets, { names, models: bases, warn: log, ...(presetsOnly && { unknownBase: notInUse }) }),
    ];
  }

  function localOffers(files: readonly string[], names: Awaited<ReturnType<typeof namesOf>>): readonly ModelOffer[] {
    return files.map((file) => ({
      names: names.get(file) ?? [file],
      path: isModelFile(file) ? join(folder, file) : undefined,
      prepare: (name) => prepared(file, { name }),
    }));
  }

  /** A remote model with the name of a local one gets the prefix `remote/`, an engine program `engine/`. */
  function remoteOffers(local: readonly ModelOffer[]): readonly ModelOffer[] {
    const all = remoteModels?.() ?? [];
    const isFirst = ({ names }: ModelOffer) => first.remote !== undefined && names[0] === first.name;
    const others = all.filter((offer) => !isFirst(offer));
    const taken = [...local.map(({ names: [id = ''] }) => id), ...(hasText(first) ? [first.name] : [])];
    const ids = uniqueNames(
      others.map(({ names: [name = ''], prefix = 'remote' }) => [name, `${prefix}/${name}`]),
      taken,
    );
    const named = others.map((offer, index) => ({ ...offer, names: [...new Set([ids[index] ?? '', ...offer.names])] }));
    return [...all.filter(isFirst), ...named];
  }

  /** Switches to what the last run had switched to. Resolves to the model that is served then: the first one, if that fails. */
  async function restore({ option, base }: ModelChoice): Promise<PreparedModel> {
    const label = option === initialModel ? first.name : option;
    try {
      // Flags win over the settings of the last run.
      const flags = Object.entries(loadSettingsOf(initial)).filter(([, value]) => value !== null);
      const load = { ...loads.get(option), ...Object.fromEntries(flags) };
      const model = await prepared(option, { base, load });
      refusePinned(model);
      terminal.line(`Using ${label}, the model of the last switch.`);
      await router.swapTo(model);
    } catch (error) {
      const reason = reasonOf(asAppError(error as Error));
      terminal.line(`The model of the last switch, ${label}, cannot be used: ${reason} Using ${first.name || 'none'}.`);
    }
    return router.defaultModel;
  }

  async function reload(option: string, base: string | undefined): Promise<boolean> {
    if (base !== undefined && (await listedFile(folder, base, links)) === undefined) return false;
    failure = undefined;
    try {
      const model = await prepared(option, { base });
      if (option !== unloadModel) refusePinned(model);
      terminal.line(
        `Switching to ${option} as soon as all that was asked of ${router.defaultModel.name} is answered.`,
        { event: 'swap', outcome: 'begun', model: model.name },
      );
      // The answer goes out first.
      void swap({ option, base }, model, new Promise((answered) => setImmediate(answered)));
      return true;
    } catch (error) {
      failed(option, error as Error);
      return false;
    }
  }

  function refusePinned(next: PreparedModel): void {
    const reason = pinProblem(router.defaultModel, next);
    if (reason !== undefined) throw new AppError('model-load-failed', { model: next.name, reason });
  }

  /** Loads the models of the configs with `preload`, one after the other. Never rejects. */
  async function preload(): Promise<void> {
    if (!settings.routermode) return;
    const files = await listFiles();
    const names = await namesOf(files);
    // The config of the start is loaded already.
    const own = settings.config ? await fileOfFolder(folder, files, settings.config) : undefined;
    const configs = preloadedConfigs(
      files.filter((file) => file !== own),
      { folder, initial },
    );
    const others = configs.map((file) => names.get(file)?.[0] ?? file);
    const { name } = router.defaultModel;
    const loaded = registry.state('text', name)?.type === 'ready' ? [name] : [];
    await preloadAll([...loaded, ...others], (one) => router.hold(one), log);
  }

  /** The present model again, with other settings. */
  async function changeLoad(changes: Partial<LoadSettings>): Promise<string | undefined> {
    const present = router.defaultModel;
    const choice = choices.get(present);
    if (!present.file || !choice) return 'No model of this machine is in use, so there is nothing to load again.';
    const { option, base } = choice;
    const load = { ...loads.get(option), ...changes };
    failure = undefined;
    try {
      const model = await prepared(option, { name: present.name, base, load, again: true });
      terminal.line(`Loading ${present.name} with other settings as soon as all that was asked of it is answered.`);
      void swap(choice, model, new Promise((answered) => setImmediate(answered)), load);
      return undefined;
    } catch (error) {
      return reasonOf(asAppError(error as Error));
    }
  }

  async function adviseAgainst(name: string, tokensPerSecond: number): Promise<void> {
    const model = router.defaultModel;
    const { file } = model;
    if (!file || model.name !== name) return;
    const { downloadOf } = await import('./downloaded-model.ts');
    const repository = downloadOf(file.path)?.id;
    const files = async (id: string) => (await library?.())?.files(id, undefined, AbortSignal.timeout(adviceMs));
    const text = await slowModelAdvice({ name, tokensPerSecond, bytes: file.shape.sizeBytes, repository, files });
    advice = { model, text };
    terminal.line(text);
  }

  async function savePresent(): Promise<string> {
    const { file, settings: own, name } = router.defaultModel;
    if (!file) throw new Error('no model of this machine is in use');
    return saveConfig(own, { folder, name });
  }

  function loadStatus(): LoadStatus {
    const present = router.defaultModel;
    const { settings, name } = present;
    const known = present.known();
    return {
      model: present.file && choices.has(present) ? name : undefined,
      settings: loadSettingsOf(present),
      pending: pendingSwaps > 0,
      failure: failure?.reason,
      known: known?.type === 'ready' ? known.model : undefined,
      quantkv: settings.quantkv,
      flashattention: !settings.noflashattention,
    };
  }

  async function swap(
    choice: ModelChoice,
    model: PreparedModel,
    answered: Promise<void>,
    load?: Partial<LoadSettings>,
  ): Promise<void> {
    const { option } = choice;
    pendingSwaps += 1;
    try {
      const error = await router.swapTo(model, answered);
      if (error) failure = { name: model.name, reason: reasonOf(error) };
      else {
        if (load && loadLayer(load).size > 0) loads.set(option, load);
        else if (load) loads.delete(option);
        await remember(choice);
      }
      const { name } = router.defaultModel;
      terminal.line(hasText(router.defaultModel) ? `Serving ${name} now.` : 'Serving no model now.', {
        event: 'swap',
        outcome: error ? 'failed' : 'done',
        model: name,
        ...(error && { level: 'error', error: { code: error.code, message: error.message } }),
      });
    } catch (error) {
      failed(option, error as Error);
    } finally {
      pendingSwaps -= 1;
    }
  }

  async function remember({ option, base }: ModelChoice): Promise<void> {
    // An unloaded model is not remembered for the next start.
    if (option === unloadModel) return;
    const isDefault = option === initialModel && loads.size === 0;
    const remembered = loads.size === 0 ? {} : { loads: Object.fromEntries(loads) };
    await lastModel?.write(isDefault ? undefined : { option, base, ...remembered });
  }

  function failed(option: string, error: Error): void {
    failure = { name: option, reason: reasonOf(asAppError(error)) };
    const { code, message } = asAppError(error);
    terminal.line(`${option} is not switched to: ${error.message}`, {
      level: 'error',
      event: 'swap',
      outcome: 'failed',
      model: option,
      error: { code, message },
    });
  }

  /** A preset is requested by name and not switched to. */
  async function options(): Promise<readonly string[]> {
    const files = await listFiles();
    const presets = (await presetFiles.among(files)).map(({ file }) => file);
    return [...files.filter((file) => !presets.includes(file)), initialModel, unloadModel];
  }

  const contextOf = (model: PreparedModel, arrival?: Arrival): ModelContext =>
    app.contextOf(modelSetup(model, registry, arrival));
  const aliases = modelAliases(settings.modelalias);
  const alias = modelAlias(
    settings,
    () => registry.list(),
    () => router.defaultModel.name,
  );
  const timeout = { seconds: settings.reqtimeout, startTimer: systemTimer };
  const others = () => [
    ...(hasText(first) && !presetsOnly ? [first.name] : []),
    ...(hasText(router.defaultModel) ? [router.defaultModel.name] : []),
    ...specsOf(first.taskModels).map(({ name }) => name),
  ];
  const present = () => (hasText(router.defaultModel) ? router.defaultModel.name : undefined);
  const changed = () => {
    seen = undefined;
  };
  const presets =
    settings.routermode || library
      ? presetStore({ folder, offers, others, present, files: listFiles, changed })
      : undefined;
  const app = build({
    resolve: (...request) => router.resolve(...request),
    auxiliaryModel: (name) => router.beside(name),
    presentSettings: () => router.defaultModel.settings,
    slowReply: (name, perSecond) => void adviseAgainst(name, perSecond),
    models: {
      byName,
      presetsByName: presetsOnly,
      swap: {
        options,
        reload,
        failure: () => failure,
        load: {
          status: loadStatus,
          change: changeLoad,
          saveConfig: savePresent,
          preparedAt: () => preparedAt.get(router.defaultModel),
        },
        advice: () => (advice?.model === router.defaultModel ? advice.text : undefined),
      },
      list: () => router.list(),
      presets,
    },
    library,
  });
  const router: ModelRouter<ModelContext> = new ModelRouter(
    { model: first, context: app.context },
    {
      registry,
      contextOf,
      presetContext: (base, preset) => base.preset(preset),
      retired: (context) => app.retire(context),
      log,
      timeout,
      alias,
      isWarm: (name) => isWarmName(settings, name),
      renewed: (model) => versions.renewed(model),
      ...(byName || presetsOnly ? { offers, presetsOnly } : {}),
    },
  );
  await Promise.all([checkAliases(), checkPresets()]);
  await checkCompactModel();
  return { app, restore, preload };

  /** Backends that have not answered yet may have the model. */
  async function checkCompactModel(): Promise<void> {
    const { compactmodel } = settings;
    if (compactmodel === '' || (await router.knows(compactmodel))) return;
    const sentence = unknownCompactModel(compactmodel, byName);
    if (!remoteModels) throw new StartError(sentence, 2);
    log(sentence);
  }

  async function checkPresets(): Promise<void> {
    if (!settings.admindir) return;
    const presets = await presetFiles.among(await listFiles());
    if (presets.length > 0 && !settings.routermode && !library)
      log(`--admindir has presets (${presets.map(({ file }) => file).join(', ')}), which need --routermode.`);
    for (const { names, preset } of settings.routermode || library ? await offers() : [])
      if (preset?.problem !== undefined && preset.problem !== notInUse(preset.base))
        log(`The preset ${names[0]} cannot be used: ${preset.problem}`);
  }

  async function checkAliases(): Promise<void> {
    if (aliases.length === 0) return;
    const listed = (await router.list()).flatMap(({ id, name, aliases: more = [] }) => [id, name, ...more]);
    for (const line of aliasRemarks(aliases, [...listed, ...specsOf(first.taskModels).map(({ name }) => name)]))
      log(line);
  }
}

/** For a server without several models, too. */
export function unknownCompactModel(name: string, byName: boolean): string {
  const advice = byName
    ? 'See GET /v1/models for the names.'
    : 'Other models need --routermode with --admindir, or --remote.';
  return `--compactmodel ${name}: there is no model with this name. ${advice}`;
}

/** The files of the folder are listed at most this often, unless presets were written. */
const seenMs = 5000;

const notInUse = (base: string): string =>
  `Its base, ${base}, is not in use: switch to that model, or start with --routermode.`;

/** Time limit for the list of files of a slow model on the hub. */
const adviceMs = 20_000;

interface PrepareOptions {
  /** The name of the model. */
  readonly name?: string;
  /** The config below that of the model, as `reload_config` names it. */
  readonly base?: string | undefined;
  readonly load?: Partial<LoadSettings>;
  /** Prepare the first model once more, with the packs that are there now. */
  readonly again?: boolean;
}

/** What an earlier version or a person has written may not be valid. */
function rememberedLoad(load: unknown): Partial<LoadSettings> {
  const reading = readLoadSettings(load);
  return reading.ok ? reading.value : {};
}
