import { findModels } from '../library/find-models.ts';
import { adminFiles, optionNames } from '../models/admin-options.ts';
import type { ModelOffer } from '../models/model-instance.ts';
import { type PresetFile, PresetFiles, presetName, presetOffers } from '../models/presets.ts';
import { type Command, command, flag, print, printJson, text } from './command.ts';

const usage = `parley presets                  the presets in the models folder: generation settings that are a model by name
parley presets --admindir DIR   those of another folder
parley presets --json           the same for scripts`;

/** `parley presets` */
export const presetsCommand = command(
  { usage, options: { admindir: text, json: flag } },
  async (
    { values, positionals },
    { folder: modelsFolder, modelFolders, terminal }: Pick<Command, 'args' | 'folder' | 'modelFolders' | 'terminal'>,
  ) => {
    if (positionals.length > 0) return undefined;
    const folder = values.admindir ?? modelsFolder;
    const files = await adminFiles(folder);
    const presets = await new PresetFiles(folder).among(files);
    const names = optionNames(files);
    const others = files.filter((file) => !presets.some((preset) => preset.file === file));
    const elsewhere = await findModels(modelFolders);
    const offers = presetOffers(presets, {
      names,
      models: [...others.map((file) => names.get(file) ?? [file]), ...elsewhere.map(({ name }) => [name])],
      warn: () => undefined,
      unknownBase,
    });
    const rows = presets.map((preset, index) => rowOf(preset, offers[index]?.preset));
    if (values.json) return printJson(terminal, rows);
    const lines = rows.map(({ name, base, settings, problem }) =>
      `${name} (${base}:${name})  ${problem ?? settings.join(', ')}`.trimEnd(),
    );
    const none = `There are no presets in ${folder}: a preset is a config there with "base": "MODEL".`;
    return print(terminal, lines.length > 0 ? lines : [none]);
  },
);

/** The text of a prompt may be long. */
const maxText = 60;

function rowOf({ file, reading }: PresetFile, facts: ModelOffer['preset']) {
  const { base = '', parameters = {}, messages = [], problem } = facts ?? {};
  const values = reading.type === 'preset' ? [...reading.preset.values] : [];
  const all = [...Object.entries(parameters), ...values.filter(([key]) => key !== 'gendefaults')];
  const settings = all.map(([key, value]) => `${key} ${shortened(JSON.stringify(value))}`);
  const more = messages.length > 0 ? [`messages ${messages.length}`] : [];
  return { name: presetName(file), base, settings: [...settings, ...more], problem };
}

/** The model of the start may have any name, and so may those of other servers. */
const unknownBase = (base: string): string =>
  `Its base, ${base}, is no model on this machine; it works only with a server that has a model of that name.`;

const shortened = (value: string): string => (value.length > maxText ? `${value.slice(0, maxText)}…` : value);
