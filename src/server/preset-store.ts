import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { flagByFileKey } from '../config/flags.ts';
import type { DefaultsNames } from '../config/gen-defaults.ts';
import { readPreset } from '../config/preset.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { equalName, findExactly, findNamed, nameKey } from '../core/model-names.ts';
import type { NewPreset, PresetStore } from '../core/models-view.ts';
import { plainFileName } from '../library/file-name.ts';
import { adapterOf } from '../library/ollama/preset.ts';
import type { ModelOffer } from '../models/model-instance.ts';

interface StoreDeps {
  readonly folder: string;
  /** All models by name. */
  readonly offers: () => Promise<readonly ModelOffer[]>;
  /** The names of models that may not be offered: that of the start, and those of other kinds. */
  readonly others: () => readonly string[];
  /** The name of the model in use. */
  readonly present: () => string | undefined;
  /** The files of the folder. */
  readonly files: () => Promise<readonly string[]>;
  /** Called after each change. */
  readonly changed: () => void;
}

interface PresetToWrite {
  readonly config: object;
  readonly replaces: boolean;
  /** For messages. */
  readonly names?: DefaultsNames;
}

/** The fields of Ollama's API. */
const ollamaNames: DefaultsNames = { defaults: 'parameters', length: 'num_predict' };

const namesOf = ({ names }: ModelOffer): readonly string[] => names;

/** Presets for clients of Ollama's API and for administrators. */
export function presetStore({ folder, offers, others, present, files, changed }: StoreDeps): PresetStore {
  const pathOf = (file: string): string => join(folder, ...file.split('/'));

  async function fileOf(name: string): Promise<string | undefined> {
    const presets = (await offers()).filter(({ preset }) => preset);
    const listed = await files();
    return findExactly(presets, namesOf, name)?.names.find((one) => listed.includes(one));
  }

  return {
    create: async (name, { from, ...preset }) => {
      await write(name, from, { config: configOf(preset), replaces: true, names: ollamaNames });
    },
    list: async () => {
      const presets = (await offers()).filter(({ preset }) => preset);
      return Promise.all(
        presets.map(async ({ names: [name = ''], preset: { base = '', problem } = {} }) => {
          const { base: _, ...settings } = await contentOf(await fileOf(name));
          return { name, base, settings, problem };
        }),
      );
    },
    save: async (name, { base: from = present(), settings, replace: replaces }) => {
      const file = await fileOf(name);
      if (from === undefined) throw new Error('No text model is in use; name the base of the preset.');
      const before = await contentOf(file);
      // An edited preset may be sent back with keys that can only be written into its file by hand.
      const foreign = Object.keys(settings).find(
        (key) => !savedKeys.has(key) && !(file && isDeepStrictEqual(settings[key], before[key])),
      );
      if (foreign !== undefined) throw new Error(`${foreign} is not a setting that can be saved here.`);
      // Such keys are kept even if they are left out.
      const others = Object.entries(before).filter(([key]) => key !== 'base' && !savedKeys.has(key));
      return write(name, from, { config: { ...Object.fromEntries(others), ...settings }, replaces });
    },
    remove: async (name) => {
      const file = await fileOf(name);
      if (file !== undefined) await rm(pathOf(file));
      changed();
      return file !== undefined;
    },
  };

  async function contentOf(file: string | undefined): Promise<Record<string, unknown>> {
    const content = file && tryParseJson(await readFile(pathOf(file), 'utf8').catch(() => ''));
    if (!isObject(content)) return {};
    // Under the name that the endpoint has for each.
    return Object.fromEntries(
      Object.entries(content).map(([key, value]) => [flagByFileKey.get(key)?.key ?? key, value]),
    );
  }

  async function write(name: string, from: string, { config, replaces, names }: PresetToWrite): Promise<string> {
    const all = await offers();
    const models = [...others().map((one) => [one]), ...all.filter(({ preset }) => !preset).map(namesOf)];
    const existing = await fileOf(name);
    const before = existing && findExactly(all, namesOf, existing)?.preset?.base;
    // The base of a preset may be a model that is not in use now.
    const sameBase = before !== undefined && equalName(before, from) ? before : undefined;
    const base = findNamed(models, (own) => own, from)?.[0] ?? sameBase;
    if (base === undefined && findNamed(all, namesOf, from))
      throw new Error(`${from} is a preset, and presets have one level only; name its base instead.`);
    if (base === undefined) throw new Error(`There is no model ${from} to make a preset of.`);
    const stem = stemOf(name, base);
    if (!existing && findExactly(models, (own) => own, stem))
      throw new Error(`${stem} is a model already; choose another name for the preset.`);
    if (existing && !replaces) throw new Error(`There is a preset ${stem} already.`);
    const text = `${JSON.stringify({ base, ...config }, undefined, 2)}\n`;
    const reading = readPreset(text, names);
    if (reading?.type !== 'preset') throw new Error(reading?.problem);
    await mkdir(folder, { recursive: true });
    await replace(pathOf(existing ?? `${stem}.kcpps`), text);
    changed();
    return stem;
  }
}

/** Not those that name files or load templates: requests cannot make the server read a file. */
const savedKeys: ReadonlySet<string> = new Set([
  'gendefaults',
  'gendefaultsoverwrite',
  'systemprompt',
  'reasoningeffort',
  'jinjathink',
  'jinja_kwargs',
  'defaultgenamt',
  'contextoverflow',
  'mcpserverloop',
  'mcptools',
  'memory',
  'messages',
]);

async function replace(path: string, text: string): Promise<void> {
  const written = `${path}.${randomBytes(6).toString('hex')}.part`;
  try {
    await writeFile(written, text, { flag: 'wx' });
    await rename(written, path);
  } catch (error) {
    await rm(written, { force: true });
    throw new Error(`The preset cannot be written: ${(error as Error).message}.`, { cause: error });
  }
}

/** Letters and digits of any script. */
const plainPart = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_.-]{0,79}$/u;

/** `terse` and `terse:latest`, or `base:terse`. It becomes the name of a file. */
function stemOf(name: string, base: string): string {
  const [model = '', tag = 'latest', ...rest] = name.replace(/^(koboldcpp|library)\//i, '').split(':');
  const isPlain = (part: string) => plainPart.test(part) && !part.includes('..') && plainFileName(part) !== undefined;
  if (rest.length === 0 && isPlain(model) && isPlain(tag)) {
    if (tag === 'latest') return model;
    if (nameKey(model) === nameKey(base)) return tag;
  }
  throw new Error(`${name} cannot be the name of a preset; choose a plain name, such as terse or ${base}:terse.`);
}

/** Without effect in requests too. */
const ignored: ReadonlySet<string> = new Set(['num_keep', 'penalize_newline']);
const ofLoad =
  /^(num_(gpu|thread|batch)|main_gpu|use_m\w+|low_vram|numa|f16_kv|vocab_only|logits_all|draft_num_predict)$/;

function configOf({ parameters, system, template, messages }: Omit<NewPreset, 'from'>): object {
  const given = Object.entries(parameters).filter(([name, value]) => value !== null && !ignored.has(name));
  const load = given.find(([name]) => ofLoad.test(name));
  if (load) throw new Error(`A preset cannot change how its base is loaded: leave out parameters.${load[0]}.`);
  const length = parameters.num_predict;
  const defaults = given.filter(([name]) => name !== 'num_predict');
  const adapter = template === '' ? undefined : adapterOf(template);
  if (template !== '' && !adapter)
    throw new Error(
      'template must have system prompt, prompt and response in turn; leave it out to use that of the base.',
    );
  return {
    ...(defaults.length > 0 && { gendefaults: Object.fromEntries(defaults) }),
    // Others mean the default length, or the whole context.
    ...(typeof length === 'number' && length > 0 && { defaultgenamt: length }),
    ...(system !== '' && { systemprompt: system }),
    ...(adapter && { chatcompletionsadapter: JSON.stringify(adapter), jinja: false }),
    ...(messages.length > 0 && { messages }),
  };
}
