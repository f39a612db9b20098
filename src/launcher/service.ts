import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isNewerConfig, newerConfig, readConfigFile } from '../config/config-file.ts';
import { engineKinds, enginePrograms, programName } from '../config/engine.ts';
import { defaultSettings, type Layer, type Settings, settingsFrom } from '../config/flags.ts';
import { validated } from '../config/load.ts';
import type { GpuMemory } from '../core/gpu-memory.ts';
import type { Product } from '../core/product.ts';
import { contextSizeFor, readModelFile } from '../engines/llama/load-options.ts';
import { layersThatFit, memoryNeed } from '../engines/llama/memory-fit.ts';
import { defaultMemory, type ModelShape, modelMemory } from '../engines/llama/model-shape.ts';
import { findModels } from '../library/find-models.ts';
import { modelFacts } from '../library/model-facts.ts';
import type { ModelFolder } from '../library/model-folders.ts';
import { allowedPath, type FileKind, listFolder } from './folders.ts';
import { commandLine, configText, formValues, readValues } from './form.ts';
import type { ServerProcess } from './server-process.ts';

interface LauncherDeps {
  readonly product: Product;
  readonly settings: Settings;
  readonly notes: readonly string[];
  readonly serverProcess: ServerProcess;
  /** In which files may be listed. */
  readonly folders: readonly string[];
  readonly home: string;
  /** Model folders of other programs. */
  readonly modelFolders: readonly ModelFolder[];
  readonly embeddedModel: string;
  readonly exists: (path: string) => boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly availableBytes: () => number;
  /** GPUs that an installed build can use. */
  readonly gpus?: () => Promise<readonly Pick<GpuMemory, 'description' | 'freeBytes'>[]>;
  /** Programs that are known to work as engines: their configs, where to get them, and whether they are installed. */
  readonly recipes?: () => readonly object[];
  readonly quit: () => void;
}

/** Reading the header of a model takes some milliseconds. */
const maxHeaders = 100;

type Problems = { readonly problems: readonly string[] };

/** The actions of the launcher. Problems are sentences for the page. */
export class LauncherService {
  readonly serverProcess: ServerProcess;

  constructor(private readonly deps: LauncherDeps) {
    this.serverProcess = deps.serverProcess;
  }

  present() {
    const { product, settings, notes, folders, home, exists, embeddedModel, availableBytes } = this.deps;
    return {
      product,
      ...(settings.config ? withheldPrograms(settings) : { values: formValues(settings), programs: [] }),
      notes,
      places: folders.filter(exists),
      home,
      embeddedModel,
      availableBytes: availableBytes(),
      state: this.serverProcess.state,
      engines: { kinds: engineKinds, recipes: this.deps.recipes?.() ?? [] },
    };
  }

  async folder(path: string, kind: FileKind) {
    const folder = await listFolder(path || this.deps.home, kind, this.deps.folders);
    if (!folder) return undefined;
    const models = kind === 'model' ? folder.entries.filter(({ name }) => /\.gguf$/i.test(name)) : [];
    const facts = await Promise.all(
      models.slice(0, maxHeaders).map(async ({ name, path: file }) => [name, await this.model(file)] as const),
    );
    return { ...folder, facts: Object.fromEntries(facts) };
  }

  async models() {
    const files = await findModels(this.deps.modelFolders);
    return (await Promise.all(files.map(modelFacts))).filter(({ type }) => type === 'model');
  }

  async model(path: string, contextSize = 0, sequences = 1) {
    const known = path === '' || path === this.deps.embeddedModel ? this.deps.embeddedModel : undefined;
    const file =
      known ?? (await allowedPath(path, [...this.deps.folders, ...this.deps.modelFolders.map(({ folder }) => folder)]));
    if (file === undefined) return undefined;
    const facts = await modelFacts({ name: '', path: file, program: '' });
    if (facts.type === 'damaged') return facts;
    const { shape } = await readModelFile(file);
    const options = {
      contextSize: contextSize || defaultSettings.contextsize,
      contextSizeGiven: contextSize > 0 && contextSize !== defaultSettings.contextsize,
      sequences,
    };
    const gpus = (await this.deps.gpus?.()) ?? [];
    return { ...facts, layers: shape.layers, fit: fitOf(shape, options, this.deps.availableBytes(), gpus) };
  }

  async load(path: string): Promise<Problems | object> {
    const file = await allowedPath(path, this.deps.folders);
    if (file === undefined || !/\.kcpp[st]$/i.test(file)) {
      return { problems: ['Only .kcpps and .kcppt files can be loaded, from the folders that are shown.'] };
    }
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text === undefined) return { problems: ['The file cannot be read.'] };
    const { values, notes, problems } = readConfigFile(text, { allowOnready: false, path: file });
    if (problems.length > 0) return { problems: problems.map(({ sentence }) => sentence) };
    return { path: file, ...withheldPrograms(settingsFrom(values)), notes };
  }

  async save(sent: Readonly<Record<string, unknown>>): Promise<Problems | object> {
    const kind = sent.kind === 'template' ? 'template' : 'config';
    const name = configName(String(sent.name ?? ''), kind);
    if (name === undefined) return { problems: ['Choose a name without slashes and other special characters.'] };
    const folder = await allowedPath(String(sent.folder || this.deps.home), this.deps.folders);
    if (folder === undefined) return { problems: ['This folder cannot be written to from here.'] };
    const written = readValues(sent.values);
    if (written.type === 'refused') return written;
    const path = join(folder, name);
    if (this.deps.exists(path) && sent.replace !== true)
      return { problems: [`${name} is there already.`], exists: true };
    try {
      if (this.deps.exists(path) && isNewerConfig(await readFile(path, 'utf8')))
        return { problems: [newerConfig(name)] };
      // It may contain passwords.
      await writeFile(path, configText(written.layer, kind), { mode: 0o600 });
      return { path };
    } catch (error) {
      return { problems: [`It could not be written: ${(error as Error).message}.`] };
    }
  }

  /** The problems and notes that the server would print at startup. */
  check(values: unknown) {
    const written = readValues(values);
    if (written.type === 'refused') return { problems: written.problems, notes: [], command: [] };
    const { problems, notes } = this.#validate(written.layer);
    return { problems, notes, command: commandLine(written.layer) };
  }

  async launch(values: unknown): Promise<Problems | object> {
    if (this.serverProcess.busy) return { problems: ['A server is running already; stop it first.'] };
    const written = readValues(values);
    if (written.type === 'refused') return written;
    const { problems, notes } = this.#validate(written.layer);
    if (problems.length > 0) return { problems };
    const folder = await mkdtemp(join(tmpdir(), 'parley-launcher-'));
    const file = join(folder, launchName(written.layer) ?? 'launch.kcpps');
    const layer: Layer = new Map([...written.layer, ['skiplauncher', true]]);
    await writeFile(file, configText(layer, 'config'), { mode: 0o600 });
    // The command was entered in the form, not read from a file.
    const allow = written.layer.has('onready') ? ['--allow-config-onready'] : [];
    const started = this.serverProcess.start(['--config', file, ...allow], () => {
      void rm(folder, { recursive: true, force: true });
    });
    return started ? { notes } : { problems: ['A server is running already; stop it first.'] };
  }

  quit(): void {
    this.deps.quit();
  }

  #validate(layer: Layer) {
    // Read as the server will read it, for the same messages.
    const parsed = readConfigFile(configText(layer, 'config'), { allowOnready: true });
    const loaded = validated({ ...parsed, given: new Set(layer.keys()) }, this.deps);
    const problems = loaded.type === 'refused' ? loaded.problems.map(({ sentence }) => sentence) : [];
    return { problems, notes: loaded.notes };
  }
}

/** The settings of a file without the programs that it would run, which are shown to the person first: the file may come from a stranger. */
function withheldPrograms(settings: Settings) {
  return { values: formValues({ ...settings, engine: null }), programs: settings.engine ?? [] };
}

/** The config of a start: a program without a name is called as its config. */
function launchName(layer: Layer): string | undefined {
  const unnamed = enginePrograms(settingsFrom(layer).engine).find(({ name }) => name === undefined);
  return unnamed && configName(programName(unnamed), 'config');
}

const maxNameLength = 100;

/** File name of a config; undefined if it contains a path or is invalid on some system. */
export function configName(requested: string, kind: 'config' | 'template'): string | undefined {
  const ending = kind === 'config' ? '.kcpps' : '.kcppt';
  const bare = requested.trim().replace(/\.kcpp[st]$/i, '');
  const fits =
    bare.length > 0 && bare.length <= maxNameLength && !/[/\\:*?"<>|\p{Cc}]/u.test(bare) && !/^\.|[. ]$/.test(bare);
  const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(bare);
  return fits && !reserved ? bare + ending : undefined;
}

/** Leaves a tenth of the memory to other programs. */
const comfortable = 0.9;

/**
 * Whether a model fits into free memory: `fits` with a reserve, `tight` without, `large` not at all. Layers that fit on graphics
 * GPUs, as they are placed without flags, need no main memory.
 */
export function fitOf(
  shape: ModelShape,
  options: { readonly contextSize: number; readonly contextSizeGiven: boolean; readonly sequences: number },
  availableBytes: number,
  gpus: readonly Pick<GpuMemory, 'description' | 'freeBytes'>[] = [],
) {
  const { trainedContext } = shape;
  const contextSize = trainedContext > 0 ? contextSizeFor(options, trainedContext) : options.contextSize;
  const needBytes = memoryNeed(shape, contextSize, options.sequences);
  const { sequences } = options;
  const { weightBytes, cacheBytes, computeBytes } = modelMemory(shape, {
    ...defaultMemory,
    contextSize,
    sequences,
    shared: sequences > 1,
  });
  const layers = layersThatFit({
    modelBytes: weightBytes - (shape.hostBytes ?? 0),
    cacheBytes,
    fixedBytes: computeBytes,
    layers: shape.layers,
    freeBytes: gpus.map(({ freeBytes }) => freeBytes),
    marginBytes: defaultSettings.autofitpadding * 2 ** 20,
    split: [],
  });
  const rest = needBytes * (1 - layers / (shape.layers + 1));
  const verdict = rest <= availableBytes * comfortable ? 'fits' : rest <= availableBytes ? 'tight' : 'large';
  const names = gpus.map(({ description }) => description).join(', ');
  const freeBytes = gpus.reduce((sum, gpu) => sum + gpu.freeBytes, 0);
  const onGpus = gpus.length > 0 ? { layers, of: shape.layers + 1, names, freeBytes } : undefined;
  return { needBytes, availableBytes, verdict, contextSize, ...(onGpus && { cards: onGpus }) };
}
