import { fieldsOf, listIn, numberIn, textIn, textsIn } from '../api/loose.ts';
import { newId } from '../saved/id.ts';
import { isSame } from '../saved/merge.ts';
import { foreignPreset } from './foreign-presets.ts';
import { storedOrder } from './sampler-order.ts';
import { texts } from './texts.ts';
import {
  defaultPromptValues,
  defaultSamplerValues,
  type EndToken,
  type PromptValues,
  type SamplerValues,
  type TokenBias,
} from './values.ts';

/** Named settings. Only the values that a preset has are set when it is chosen. */
export interface Preset {
  readonly id: string;
  readonly name: string;
  readonly changedAt: number;
  readonly samplers?: Partial<SamplerValues>;
  readonly prompt?: Partial<PromptValues>;
  /** Fields of the imported file that have no counterpart here. */
  readonly skipped?: readonly string[];
}

export type PresetKind = 'samplers' | 'prompt';

const format = 'parley.presets';

/** The content of a file with presets. */
export function fileOfPresets(presets: readonly Preset[]): object {
  return {
    format,
    version: 1,
    presets: presets.map(({ name, samplers, prompt }) => ({
      name,
      ...(samplers && { samplers }),
      ...(prompt && { prompt }),
    })),
  };
}

/** All presets of a file of Parley, KoboldAI Lite or SillyTavern; none if it is something else. `name` is used for those without one. */
export function presetsOf(json: unknown, name: string): Preset[] {
  const fields = fieldsOf(json);
  const presets =
    fields.format === format
      ? listIn(fields.presets, 1000).map((entry) => ownPreset(fieldsOf(entry)))
      : [foreignPreset(json)];
  return presets.flatMap((preset) =>
    preset ? [{ ...preset, id: newId(), name: preset.name || nameOfFile(name), changedAt: Date.now() }] : [],
  );
}

/** A file name without its extensions. */
function nameOfFile(name: string): string {
  return name.replace(/(\.(json|settings|preset|parley))+$/i, '').trim() || texts.presets.unnamed;
}

function ownPreset({ name, samplers, prompt }: Readonly<Record<string, unknown>>) {
  return {
    name: textIn(name),
    ...(samplers === undefined ? {} : { samplers: samplerValuesIn(fieldsOf(samplers)) }),
    ...(prompt === undefined ? {} : { prompt: promptValuesIn(fieldsOf(prompt)) }),
  };
}

type Readers<Values> = { readonly [Name in keyof Values]: (value: unknown) => Values[Name] };

const samplerReaders: Readers<SamplerValues> = {
  replyLength: (value) => (value === null ? null : Math.max(1, Math.floor(numberIn(value, 512)))),
  sampling: (value) => numbersIn(value),
  samplerOrder: (value) => storedOrder(listIn(value, 20).map((stage) => numberIn(stage, -1))),
  dryBreakers: (value) => textsIn(value, 128),
  grammar: (value) => textIn(value),
  jsonSchema: (value) => textIn(value),
  bannedPhrases: (value) => textsIn(value, 768),
  logitBias: (value) => biasesIn(value),
  endToken: (value) => endTokenIn(value),
};

const promptReaders: Readers<PromptValues> = {
  systemPrompt: (value) => textIn(value),
  stopSequences: (value) => textsIn(value, 256),
  authorsNote: (value) => {
    const { text, depth } = fieldsOf(value);
    return { text: textIn(text), depth: numberIn(depth, defaultPromptValues.authorsNote.depth) };
  },
  userName: (value) => textIn(value),
  modelName: (value) => textIn(value),
};

function valuesIn<Values>(readers: Readers<Values>, fields: Readonly<Record<string, unknown>>): Partial<Values> {
  const names = (Object.keys(readers) as (keyof Values & string)[]).filter((name) => fields[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, readers[name](fields[name])])) as Partial<Values>;
}

const samplerValuesIn = (fields: Readonly<Record<string, unknown>>) => valuesIn(samplerReaders, fields);
const promptValuesIn = (fields: Readonly<Record<string, unknown>>) => valuesIn(promptReaders, fields);

function numbersIn(value: unknown): Record<string, number> {
  const entries = Object.entries(fieldsOf(value)).map(([name, one]): [string, number] => [
    name,
    numberIn(one, Number.NaN),
  ]);
  return Object.fromEntries(entries.filter(([, number]) => !Number.isNaN(number)));
}

function biasesIn(value: unknown): TokenBias[] {
  return listIn(value, 512).flatMap((entry) => {
    const { token, bias } = fieldsOf(entry);
    return textIn(token) === '' ? [] : [{ token: textIn(token), bias: numberIn(bias, 0) }];
  });
}

function endTokenIn(value: unknown): EndToken {
  return value === 'ban' || value === 'ignore' ? value : 'stop';
}

/** Whether the current values differ from those of a preset. */
export function differs<Values extends object>(current: Values, preset: Partial<Values>): boolean {
  return Object.entries(preset).some(([name, value]) => !isSame(current[name as keyof Values], value));
}

/** A name that no other preset has. */
export function freeName(name: string, taken: readonly string[]): string {
  if (!taken.includes(name)) return name;
  const stem = name.replace(/ \(\d+\)$/, '');
  let number = 2;
  while (taken.includes(`${stem} (${number})`)) number += 1;
  return `${stem} (${number})`;
}

/** The values of a kind out of settings that have more fields. */
export function samplerValuesOf(settings: SamplerValues): SamplerValues {
  return pick(settings, Object.keys(defaultSamplerValues) as (keyof SamplerValues)[]);
}

export function promptValuesOf(settings: PromptValues): PromptValues {
  return pick(settings, Object.keys(defaultPromptValues) as (keyof PromptValues)[]);
}

function pick<Values extends object>(values: Values, names: readonly (keyof Values)[]): Values {
  return Object.fromEntries(names.map((name) => [name, values[name]])) as Values;
}
