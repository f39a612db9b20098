import { type SamplingField, samplingFields } from '../../../src/core/sampling-fields.ts';
import { type Fields, fieldsOf, jsonIn, listIn, numberIn, textIn, textsIn } from '../api/loose.ts';
import { storedOrder } from './sampler-order.ts';
import type { EndToken, PromptValues, SamplerValues, TokenBias } from './values.ts';

/** What presets of KoboldAI Lite and SillyTavern have in common with those of Parley. */
interface ForeignPreset {
  readonly name: string;
  readonly samplers?: Partial<SamplerValues>;
  readonly prompt?: Partial<PromptValues>;
  readonly skipped: readonly string[];
}

/** Reads a preset of KoboldAI Lite or SillyTavern; undefined if the file is something else. */
export function foreignPreset(json: unknown): ForeignPreset | undefined {
  const fields = fieldsOf(json);
  // A save of KoboldAI Lite with its settings is a story.
  if ('actions' in fields || 'prompt' in fields || 'spec' in fields) return undefined;
  if ('savedsettings' in fields) {
    const { savedsettings, ...story } = fields;
    return samplerPreset({ ...story, ...fieldsOf(savedsettings) });
  }
  return (
    sections(fields) ??
    chatCompletionPreset(fields) ??
    samplerPreset(fields) ??
    instructPreset(fields) ??
    systemPrompt(fields)
  );
}

/** Names of samplers in the files, with our names. */
const samplerNames: ReadonlyMap<string, string> = new Map([
  ...Object.values<SamplingField>(samplingFields).flatMap(({ wire, apis = {} }) =>
    [...wire, ...Object.values(apis)].map((name): [string, string] => [name, wire[0]]),
  ),
  ['temp', 'temperature'],
  ['freq_pen', 'frequency_penalty'],
  ['presence_pen', 'presence_penalty'],
  ['typ_s', 'typical'],
  ['tfs_s', 'tfs'],
  ['miro_type', 'mirostat'],
  ['miro_tau', 'mirostat_tau'],
  ['miro_eta', 'mirostat_eta'],
  ['adaptivep_target', 'adaptive_target'],
  ['adaptivep_decay', 'adaptive_decay'],
]);

/** Fields without a counterpart, at values that change nothing. */
const neutral: Fields = {
  epsilon_cutoff: 0,
  eta_cutoff: 0,
  rep_pen_decay: 0,
  no_repeat_ngram_size: 0,
  penalty_alpha: 0,
  num_beams: 1,
  length_penalty: 1,
  min_length: 0,
  encoder_rep_pen: 1,
  skew: 0,
  do_sample: true,
  add_bos_token: true,
  skip_special_tokens: true,
  spaces_between_special_tokens: true,
  include_reasoning: true,
  guidance_scale: 1,
  min_keep: 0,
  rep_pen_size: 0,
  max_tokens_second: 0,
  n: 1,
};

const separator = '||$||';
const parts = (value: unknown): string[] =>
  textIn(value)
    .split(separator)
    .map((part) => part.replaceAll('\\n', '\n'))
    .filter((part) => part !== '');

/** Removes the fields that were understood; the others are named to the person unless they say nothing. */
class Reading {
  readonly #used = new Set<string>();

  constructor(readonly fields: Fields) {}

  take(name: string): unknown {
    if (name in this.fields) this.#used.add(name);
    return this.fields[name];
  }

  skipped(): string[] {
    return Object.keys(this.fields).filter(
      (name) => !this.#used.has(name) && !saysNothing(this.fields[name]) && this.fields[name] !== neutral[name],
    );
  }
}

function saysNothing(value: unknown): boolean {
  if (value === null || value === undefined || value === '' || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** A text-completion preset of SillyTavern, or the settings or a sampler preset of KoboldAI Lite. */
function samplerPreset(fields: Fields): ForeignPreset | undefined {
  if (Object.keys(fields).filter((name) => samplerNames.has(name)).length < 3) return undefined;
  const reading = new Reading(fields);
  const sampling = samplingIn(reading);
  const order = listIn(reading.take('sampler_order'), 20).filter((stage): stage is number => typeof stage === 'number');
  // Orders for other servers; this one is for ours.
  if (order.length > 0) for (const name of ['sampler_priority', 'samplers', 'samplers_priorities']) reading.take(name);
  reading.take('temperature_last');
  const breakers = textsOfJson(reading.take('dry_sequence_breakers'));
  const length = replyLengthIn(reading);
  const schema = fieldsOf(reading.take('json_schema'));
  const samplers: Partial<SamplerValues> = {
    ...(length === undefined ? {} : { replyLength: length }),
    sampling,
    samplerOrder: storedOrder(order),
    ...(breakers.length > 0 ? { dryBreakers: breakers } : {}),
    ...outputIn(reading),
    ...(Object.keys(schema).length > 0 ? { jsonSchema: JSON.stringify(schema, undefined, 2) } : {}),
  };
  const prompt = promptIn(reading);
  const name = textIn(reading.take('preset')) || textIn(reading.take('name'));
  for (const known of ['description', 'streaming']) reading.take(known);
  return {
    name: name.replace(/^\[(.*)\]$/, '$1'),
    samplers,
    ...(Object.keys(prompt).length > 0 ? { prompt } : {}),
    skipped: reading.skipped(),
  };
}

function samplingIn(reading: Reading): Record<string, number> {
  const sampling: Record<string, number> = {};
  for (const [name, wire] of samplerNames) {
    if (!(name in reading.fields)) continue;
    const value = numberIn(reading.take(name), Number.NaN);
    if (!Number.isNaN(value)) sampling[wire] ??= value;
  }
  const dynamic = reading.take('dynatemp');
  const lowest = numberIn(reading.take('min_temp'), Number.NaN);
  const highest = numberIn(reading.take('max_temp'), Number.NaN);
  if (dynamic === true && lowest <= highest) {
    sampling.temperature = round((lowest + highest) / 2);
    sampling.dynatemp_range = round((highest - lowest) / 2);
  }
  return sampling;
}

const round = (value: number): number => Math.round(value * 10_000) / 10_000;

/** SillyTavern names the reply `genamt` and the context `max_length`; KoboldAI Lite names the reply `max_length`. */
function replyLengthIn(reading: Reading): number | undefined {
  const name = ['genamt', 'openai_max_tokens', 'max_length'].find((each) => each in reading.fields);
  const length = name === undefined ? 0 : numberIn(reading.take(name), 0);
  return length >= 1 ? Math.floor(length) : undefined;
}

function outputIn(reading: Reading): Partial<SamplerValues> {
  const grammar = textIn(reading.take('grammar_string')) || textIn(reading.take('grammar'));
  const banned = bannedIn(reading);
  const biases = [
    ...biasesIn(reading.take('logit_bias')),
    ...biasesIn(reading.take('logitbiasdict')),
    ...banned.tokens,
  ];
  const endToken = endTokenIn(reading);
  return {
    ...(grammar === '' ? {} : { grammar }),
    ...(banned.phrases.length > 0 ? { bannedPhrases: banned.phrases } : {}),
    ...(biases.length > 0 ? { logitBias: biases } : {}),
    ...(endToken === undefined ? {} : { endToken }),
  };
}

/** One phrase per line, perhaps in quotes, or numbers of tokens in brackets. In Lite a text with separators. */
function bannedIn(reading: Reading): { phrases: string[]; tokens: TokenBias[] } {
  const lines =
    reading.fields.send_banned_tokens === false
      ? []
      : ['banned_tokens', 'global_banned_tokens'].flatMap((name) => {
          const value = reading.take(name);
          return Array.isArray(value) ? textsIn(value) : textIn(value).split('\n');
        });
  reading.take('send_banned_tokens');
  const phrases = new Set(parts(reading.take('tokenbans')));
  const tokens: TokenBias[] = [];
  for (const line of lines) {
    if (line.trim() === '') continue;
    const numbers = /^\[[\d,\s]*\]$/.test(line.trim()) ? line.match(/\d+/g) : undefined;
    if (numbers) tokens.push(...numbers.map((number) => ({ token: `#${number}`, bias: -100 })));
    else phrases.add(line.replace(/^"(.*)"$/, '$1'));
  }
  return { phrases: [...phrases], tokens };
}

/** A list of texts with values, or an object from numbers of tokens to values. */
function biasesIn(value: unknown): TokenBias[] {
  if (Array.isArray(value))
    return value.flatMap((entry) => {
      const { text, value: bias } = fieldsOf(entry);
      const numbers = /^\[[\d,\s]+\]$/.test(textIn(text).trim()) ? textIn(text).match(/\d+/g) : undefined;
      const tokens = numbers?.map((number) => `#${number}`) ?? [textIn(text).replace(/^\{(.*)\}$/s, '$1')];
      return tokens.filter((token) => token !== '').map((token) => ({ token, bias: numberIn(bias, 0) }));
    });
  return Object.entries(fieldsOf(value)).flatMap(([number, bias]) =>
    /^\d+$/.test(number) ? [{ token: `#${number}`, bias: numberIn(bias, 0) }] : [],
  );
}

function endTokenIn(reading: Reading): EndToken | undefined {
  const mode = reading.take('eos_ban_mode');
  const banned = reading.take('ban_eos_token') ?? reading.take('use_default_badwordsids');
  const ignored = reading.take('ignore_eos_token') ?? reading.take('bypass_eos');
  if (mode === 3 || ignored === true) return 'ignore';
  return mode === 2 || banned === true ? 'ban' : undefined;
}

function promptIn(reading: Reading): Partial<PromptValues> {
  const stops = [
    ...parts(reading.take('extrastopseq')),
    ...textsOfJson(reading.take('stopping_strings')),
    ...textsOfJson(reading.take('custom_stopping_strings')),
  ];
  const system = textIn(reading.take('instruct_sysprompt'));
  const note = textIn(reading.take('authorsnote'));
  const depth = numberIn(reading.take('anotestr'), 320);
  const userName = textIn(reading.take('chatname')).trim();
  const [modelName = ''] = parts(reading.take('chatopponent'));
  return {
    ...(system === '' ? {} : { systemPrompt: system.replaceAll('\\n', '\n') }),
    ...(stops.length > 0 ? { stopSequences: stops } : {}),
    ...(note === '' ? {} : { authorsNote: { text: note, depth } }),
    ...(userName === '' ? {} : { userName }),
    ...(modelName === '' ? {} : { modelName }),
  };
}

/** A list, or a JSON list in a text. */
function textsOfJson(value: unknown): string[] {
  return textsIn(Array.isArray(value) ? value : jsonIn(textIn(value)));
}

/** SillyTavern's export of several presets in one file. */
function sections(fields: Fields): ForeignPreset | undefined {
  const { preset, sysprompt, instruct, ...others } = fields;
  const presets = [
    samplerPreset(fieldsOf(preset)),
    systemPrompt(fieldsOf(sysprompt)),
    instructPreset(fieldsOf(instruct)),
  ].filter((one) => one !== undefined);
  if (typeof preset !== 'object' && typeof sysprompt !== 'object' && typeof instruct !== 'object') return undefined;
  if (presets.length === 0) return undefined;
  const prompt = Object.assign({}, ...presets.map((one) => one.prompt ?? {})) as Partial<PromptValues>;
  const samplers = presets.find((one) => one.samplers)?.samplers;
  return {
    name: presets.find(({ name }) => name !== '')?.name ?? '',
    ...(samplers ? { samplers } : {}),
    ...(Object.keys(prompt).length > 0 ? { prompt } : {}),
    skipped: [
      ...presets.flatMap(({ skipped }) => skipped),
      ...Object.keys(others).filter((name) => !saysNothing(others[name])),
    ],
  };
}

/** SillyTavern's template of an instruct format. The format here is that of the model; only its ends are used. */
function instructPreset(fields: Fields): ForeignPreset | undefined {
  if (!('input_sequence' in fields && 'output_sequence' in fields)) return undefined;
  const { name, stop_sequence: stop, wrap: _, macro: __, ...others } = fields;
  const stops = [textIn(stop)].filter((one) => one !== '');
  return {
    name: textIn(name),
    prompt: stops.length > 0 ? { stopSequences: stops } : {},
    skipped: Object.keys(others).filter((field) => !saysNothing(others[field])),
  };
}

function systemPrompt(fields: Fields): ForeignPreset | undefined {
  const { name, content, ...others } = fields;
  if (typeof content !== 'string' || Object.keys(others).some((field) => field !== 'post_history')) return undefined;
  return {
    name: textIn(name),
    prompt: { systemPrompt: content },
    skipped: textIn(others.post_history) === '' ? [] : ['post_history'],
  };
}

/** SillyTavern's preset for chat APIs: its main prompt is the system prompt. */
function chatCompletionPreset(fields: Fields): ForeignPreset | undefined {
  if (!('openai_max_context' in fields || ('prompts' in fields && 'prompt_order' in fields))) return undefined;
  const { prompts, prompt_order: _, openai_max_context: __, ...others } = fields;
  const preset = samplerPreset(others);
  const texts = listIn(prompts).map(fieldsOf);
  const main = textIn(texts.find(({ identifier }) => identifier === 'main')?.content);
  const rest = texts.filter(({ identifier, content }) => identifier !== 'main' && textIn(content) !== '');
  return {
    name: preset?.name ?? '',
    ...(preset?.samplers ? { samplers: preset.samplers } : {}),
    prompt: { ...preset?.prompt, ...(main === '' ? {} : { systemPrompt: main }) },
    skipped: [...(preset?.skipped ?? []), ...rest.map(({ name }) => `prompts: ${textIn(name)}`)],
  };
}
