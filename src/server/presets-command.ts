import { adminFiles } from '../models/admin-options.ts';
import { factsOf, type PresetFile, PresetFiles, presetName } from '../models/presets.ts';
import { type Command, flag, readWords, showUsage, text } from './command.ts';

const usage = `parley presets                  the presets in the models folder: generation settings that are a model by name
parley presets --admindir DIR   those of another folder
parley presets --json           the same for scripts`;

/** `parley presets`: resolves to the exit code. */
export async function presetsCommand({
  words,
  folder: own,
  terminal,
}: Pick<Command, 'words' | 'folder' | 'terminal'>): Promise<number> {
  const read = readWords(words, { admindir: text, json: flag });
  if (!read || read.others.length > 0) return showUsage(terminal, usage);
  const folder = read.values.admindir ?? own;
  const presets = await new PresetFiles(folder).among(await adminFiles(folder));
  const rows = presets.map(rowOf);
  if (read.values.json) terminal.line(JSON.stringify(rows, undefined, 2));
  else if (rows.length === 0)
    terminal.line(`There are no presets in ${folder}: a preset is a config there with "base": "MODEL".`);
  else
    for (const { name, base, settings, problem } of rows)
      terminal.line(`${name} (${base}:${name})  ${problem ?? settings.join(', ')}`.trimEnd());
  return 0;
}

/** The text of a prompt may be long. */
const maxText = 60;

function rowOf({ file, reading }: PresetFile) {
  const name = presetName(file);
  if (reading.type === 'faulty') return { name, base: reading.base, settings: [], problem: reading.problem };
  const { values } = reading.preset;
  const { base, parameters, messages } = factsOf(reading);
  const shown = [...Object.entries(parameters), ...[...values].filter(([key]) => key !== 'gendefaults')];
  const settings = shown.map(([key, value]) => `${key} ${shortened(JSON.stringify(value))}`);
  const more = messages.length > 0 ? [`messages ${messages.length}`] : [];
  return { name, base, settings: [...settings, ...more], problem: undefined };
}

const shortened = (value: string): string => (value.length > maxText ? `${value.slice(0, maxText)}…` : value);
