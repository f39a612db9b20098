import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { text } from '../chat/messages.ts';
import type { Opening } from '../chat/opening.ts';
import { settingsFrom } from '../config/flags.ts';
import { requestDefaults } from '../config/gen-defaults.ts';
import { type PresetReading, presetSettings, readPreset } from '../config/preset.ts';
import { findNamed } from '../core/model-names.ts';
import type { PresetFacts } from '../core/models-view.ts';
import { isModelFile } from './admin-options.ts';
import { loadChatFormat } from './chat-format.ts';
import type { ModelOffer } from './model-instance.ts';
import type { PreparedModel } from './prepared-model.ts';

/** A config with `base`, as it was read. */
export interface PresetFile {
  readonly file: string;
  readonly reading: PresetReading;
  /** Changes with its content. */
  readonly version: string;
}

/** Finds the presets of a folder. A file is read again only after it has changed: names are looked up for each request. */
export class PresetFiles {
  readonly #known = new Map<string, { readonly version: string; readonly reading: PresetReading | undefined }>();

  constructor(private readonly folder: string) {}

  async among(files: readonly string[]): Promise<readonly PresetFile[]> {
    const configs = files.filter((file) => !isModelFile(file));
    for (const file of this.#known.keys()) if (!configs.includes(file)) this.#known.delete(file);
    const presets = await Promise.all(configs.map((file) => this.#read(file)));
    return presets.filter((one) => one !== undefined);
  }

  async #read(file: string): Promise<PresetFile | undefined> {
    try {
      const path = join(this.folder, ...file.split('/'));
      const { size, mtimeMs } = await stat(path);
      const version = `${size} ${mtimeMs}`;
      const known = this.#known.get(file);
      const reading = known?.version === version ? known.reading : readPreset(await readFile(path, 'utf8'));
      this.#known.set(file, { version, reading });
      return reading && { file, reading, version };
    } catch {
      // It was deleted meanwhile.
      return undefined;
    }
  }
}

export const presetName = (file: string): string => basename(file).replace(/\.kcpp[st]$/i, '');

interface OfferDeps {
  /** What each file answers to. */
  readonly names: ReadonlyMap<string, readonly string[]>;
  /** The models that are no presets, with all their names. */
  readonly models: readonly (readonly string[])[];
  readonly warn: (line: string) => void;
  /** What is wrong with a base that is none of the models, a sentence. */
  readonly unknownBase?: (base: string) => string;
}

/** The presets by name. One that cannot be used has the reason as its `problem`. */
export function presetOffers(files: readonly PresetFile[], parts: OfferDeps): readonly ModelOffer[] {
  const { names, models, warn, unknownBase = (base) => `Its base, ${base}, is no model of this server.` } = parts;
  const modelNamed = (name: string) => findNamed(models, (own) => own, name)?.[0];
  const presetNamed = (name: string) => findNamed(files, (one) => names.get(one.file) ?? [one.file], name);
  /** The base of a preset that is a base; undefined where their bases lead in a circle. */
  const modelBelow = (preset: PresetFile): string | undefined => {
    const visited = new Set<PresetFile>();
    for (let next = preset; !visited.has(next); ) {
      visited.add(next);
      const base = baseOf(next.reading);
      const below = modelNamed(base) === undefined ? presetNamed(base) : undefined;
      if (!below) return base;
      next = below;
    }
    return undefined;
  };
  const baseProblem = (file: PresetFile): string => {
    const baseName = baseOf(file.reading);
    const preset = presetNamed(baseName);
    if (!preset) return unknownBase(baseName);
    if (preset === file) return `Its base, ${baseName}, is the preset itself; name the model that it is for.`;
    const model = modelBelow(preset) ?? 'the model that it is for';
    return `Its base, ${baseName}, is a preset too, and presets have one level only; name ${model} instead.`;
  };
  return files.map((preset): ModelOffer => {
    const { file, reading, version } = preset;
    const baseName = baseOf(reading);
    const base = modelNamed(baseName);
    const own = names.get(file) ?? [file];
    const problem = reading.type === 'faulty' ? reading.problem : base === undefined ? baseProblem(preset) : undefined;
    return {
      names: base === undefined ? own : [...own, `${base}:${presetName(file)}`],
      path: undefined,
      preset: { ...factsOf(reading), base: base ?? baseName, version, problem },
      prepare: async (name, model) => {
        if (!model || reading.type === 'faulty') throw new Error(problem);
        return presetModel(name, reading.preset, model, warn);
      },
    };
  });
}

/** For those who ask what it changes. */
export function factsOf(reading: PresetReading): PresetFacts {
  if (reading.type === 'faulty') return { base: reading.base, system: '', parameters: {}, messages: [] };
  const { base, values, messages } = reading.preset;
  const parameters = requestDefaults(settingsFrom(values));
  const length = values.get('defaultgenamt');
  return {
    base,
    system: String(values.get('systemprompt') ?? ''),
    parameters,
    messages,
    ...(typeof length === 'number' && { replyLength: length }),
  };
}

const baseOf = (reading: PresetReading): string => (reading.type === 'preset' ? reading.preset.base : reading.base);

/** The base with the settings of the preset. Only its chat format is loaded again, and only where that differs. */
async function presetModel(
  name: string,
  preset: Extract<PresetReading, { type: 'preset' }>['preset'],
  base: PreparedModel,
  warn: (line: string) => void,
): Promise<PreparedModel & { readonly opening: Opening }> {
  const settings = presetSettings(preset, base.settings);
  const formatKeys = ['jinja', 'jinja_tools', 'jinjatemplate', 'chatcompletionsadapter'] as const;
  const isSame = formatKeys.every((key) => settings[key] === base.settings[key]);
  const messages = preset.messages.map(({ role, content }) => ({ role, content: text(content) }));
  return {
    ...base,
    name,
    settings,
    format: isSame ? base.format : await loadChatFormat(settings, base.file?.chatTemplate, warn),
    // Remote backends write the chats of the base without its settings.
    opening: {
      systemPrompt: String(preset.values.get('systemprompt') ?? ''),
      messages,
      variables: settings.jinja_kwargs ?? {},
    },
  };
}
