import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfigFile } from '../config/config-file.ts';
import { defaultSettings, type FlagKey, type Layer, type Settings, settingsFrom } from '../config/flags.ts';
import { validated } from '../config/load.ts';
import { contextSizeFor, type ModelShape, memoryNeed, readModelFile } from '../engines/llama/load-options.ts';
import { findModels } from '../library/find-models.ts';
import { modelFacts } from '../library/model-facts.ts';
import type { Place } from '../library/places.ts';
import { allowedPath, type Folder, listFolder, type Wanted } from './folders.ts';
import { commandLine, configText, readValues, shownValues } from './form.ts';
import type { Launched } from './launched.ts';

export interface LauncherParts {
  readonly product: { readonly name: string; readonly version: string };
  /** What the launcher was started with, a config file included. */
  readonly settings: Settings;
  readonly notes: readonly string[];
  readonly launched: Launched;
  /** Below which files may be looked at. */
  readonly folders: readonly string[];
  readonly home: string;
  /** Where models of other programs are. */
  readonly places: readonly Place[];
  readonly embeddedModel: string;
  readonly exists: (path: string) => boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly availableBytes: () => number;
  readonly quit: () => void;
}

/** Looking into a file takes some milliseconds. */
const mostLookedAt = 100;
const usualWish = { contextSize: 0, sequences: 1 };

type Problems = { readonly problems: readonly string[] };

/** What can be done at the launcher. Everything that is refused is told in sentences for the person at the page. */
export class LauncherService {
  readonly launched: Launched;

  constructor(private readonly parts: LauncherParts) {
    this.launched = parts.launched;
  }

  present() {
    const { product, settings, notes, folders, home, exists, embeddedModel, availableBytes } = this.parts;
    return {
      product,
      values: shownValues(settings),
      notes,
      places: folders.filter(exists),
      home,
      embeddedModel,
      availableBytes: availableBytes(),
      state: this.launched.state,
    };
  }

  async folder(path: string, wanted: Wanted): Promise<(Folder & { readonly facts: object }) | undefined> {
    const folder = await listFolder(path || this.parts.home, wanted, this.parts.folders);
    if (!folder) return undefined;
    const models = wanted === 'model' ? folder.entries.filter(({ name }) => /\.gguf$/i.test(name)) : [];
    const looked = await Promise.all(
      models
        .slice(0, mostLookedAt)
        .map(async (entry) => [entry.name, await this.model(entry.path, usualWish)] as const),
    );
    return { ...folder, facts: Object.fromEntries(looked) };
  }

  /** Those that other programs keep may lie elsewhere; their programs have told where. */
  async models() {
    const found = await findModels(this.parts.places);
    return (await Promise.all(found.map(modelFacts))).filter(({ type }) => type === 'model');
  }

  async model(path: string, { contextSize, sequences }: { readonly contextSize: number; readonly sequences: number }) {
    const known = path === '' || path === this.parts.embeddedModel ? this.parts.embeddedModel : undefined;
    const place =
      known ?? (await allowedPath(path, [...this.parts.folders, ...this.parts.places.map(({ folder }) => folder)]));
    if (place === undefined) return undefined;
    const facts = await modelFacts({ name: '', path: place, program: '' });
    if (facts.type === 'damaged') return facts;
    const { shape } = await readModelFile(place);
    const wish = {
      contextSize: contextSize || defaultSettings.contextsize,
      contextSizeGiven: contextSize > 0 && contextSize !== defaultSettings.contextsize,
      sequences,
    };
    return { ...facts, layers: shape.layers, fit: fitOf(shape, wish, this.parts.availableBytes()) };
  }

  async load(path: string): Promise<Problems | object> {
    const place = await allowedPath(path, this.parts.folders);
    if (place === undefined || !/\.kcpp[st]$/i.test(place)) {
      return { problems: ['Only .kcpps and .kcppt files can be loaded, from the folders that are shown.'] };
    }
    const text = await readFile(place, 'utf8').catch(() => undefined);
    if (text === undefined) return { problems: ['The file cannot be read.'] };
    const { values, notes, problems } = readConfigFile(text, { allowOnready: false, path: place });
    if (problems.length > 0) return { problems: problems.map(({ sentence }) => sentence) };
    return { path: place, values: shownValues(settingsFrom(values)), notes };
  }

  async save(sent: Readonly<Record<string, unknown>>): Promise<Problems | object> {
    const kind = sent.kind === 'template' ? 'template' : 'config';
    const name = configName(String(sent.name ?? ''), kind);
    if (name === undefined) return { problems: ['Choose a name without slashes and other special characters.'] };
    const folder = await allowedPath(String(sent.folder || this.parts.home), this.parts.folders);
    if (folder === undefined) return { problems: ['This folder cannot be written to from here.'] };
    const written = readValues(sent.values);
    if (written.type === 'refused') return written;
    const path = join(folder, name);
    if (this.parts.exists(path) && sent.replace !== true)
      return { problems: [`${name} is there already.`], exists: true };
    try {
      // It may hold passwords.
      await writeFile(path, configText(written.layer, kind), { mode: 0o600 });
      return { path };
    } catch (error) {
      return { problems: [`It could not be written: ${(error as Error).message}.`] };
    }
  }

  /** All that the server itself would say before it starts. */
  check(values: unknown) {
    const written = readValues(values);
    if (written.type === 'refused') return { problems: written.problems, notes: [], command: [] };
    const { problems, notes } = this.#judge(written.layer);
    return { problems, notes, command: commandLine(written.layer) };
  }

  async launch(values: unknown): Promise<Problems | object> {
    if (this.launched.busy) return { problems: ['A server is running already; stop it first.'] };
    const written = readValues(values);
    if (written.type === 'refused') return written;
    const { problems, notes } = this.#judge(written.layer);
    if (problems.length > 0) return { problems };
    const folder = await mkdtemp(join(tmpdir(), 'parley-launcher-'));
    const file = join(folder, 'launch.kcpps');
    const layer: Layer = new Map([...written.layer, ['skiplauncher', true]]);
    await writeFile(file, configText(layer, 'config'), { mode: 0o600 });
    // The command was typed in the form, and not brought along by a file.
    const allow = written.layer.has('onready') ? ['--allow-config-onready'] : [];
    const started = this.launched.start(['--config', file, ...allow], () => {
      void rm(folder, { recursive: true, force: true });
    });
    return started ? { notes } : { problems: ['A server is running already; stop it first.'] };
  }

  stop(): void {
    this.launched.stop();
  }

  quit(): void {
    this.parts.quit();
  }

  #judge(layer: Layer): { readonly problems: readonly string[]; readonly notes: readonly string[] } {
    // Read as the server will read it, so that it says the same.
    const { values, notes, problems: found } = readConfigFile(configText(layer, 'config'), { allowOnready: true });
    const given: ReadonlySet<FlagKey> = new Set(layer.keys());
    const loaded = validated({ layer: values, given, notes, problems: found }, this.parts);
    const problems = loaded.type === 'refused' ? loaded.problems.map(({ sentence }) => sentence) : [];
    return { problems, notes: loaded.notes };
  }
}

const longest = 100;

/** A file name for a config, or undefined for one that would lead elsewhere or that no system takes. */
export function configName(asked: string, kind: 'config' | 'template'): string | undefined {
  const ending = kind === 'config' ? '.kcpps' : '.kcppt';
  const bare = asked.trim().replace(/\.kcpp[st]$/i, '');
  const fits =
    bare.length > 0 && bare.length <= longest && !/[/\\:*?"<>|\p{Cc}]/u.test(bare) && !/^\.|[. ]$/.test(bare);
  const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(bare);
  return fits && !reserved ? bare + ending : undefined;
}

interface Fit {
  readonly needBytes: number;
  readonly availableBytes: number;
  /** `fits` with some room left, `tight` with none, `large` where it would have to be read from the disk again and again. */
  readonly verdict: 'fits' | 'tight' | 'large';
  /** The context that the server will give it. */
  readonly contextSize: number;
}

interface Wish {
  readonly contextSize: number;
  readonly contextSizeGiven: boolean;
  readonly sequences: number;
}

/** A tenth of the memory is what the rest of a machine takes without anybody noticing. */
const comfortable = 0.9;

/** About whether a model can be kept in memory, by its header and by what is free now. */
export function fitOf(shape: ModelShape, wish: Wish, availableBytes: number): Fit {
  const { trainedContext } = shape;
  const contextSize = trainedContext > 0 ? contextSizeFor(wish, trainedContext) : wish.contextSize;
  const needBytes = memoryNeed(shape, contextSize, wish.sequences);
  const verdict = needBytes <= availableBytes * comfortable ? 'fits' : needBytes <= availableBytes ? 'tight' : 'large';
  return { needBytes, availableBytes, verdict, contextSize };
}
