import type { GenerationControls } from '../../core/request.ts';
import {
  type Sampling,
  type SamplingField,
  type SamplingName,
  samplersOfApi,
  samplingFields,
} from '../../core/sampling-fields.ts';
import type { JsonObject } from '../../http/body.ts';
import { type ControlParts, limitTokens, penaltyRange, smallerContext } from '../controls/decode.ts';
import { readStop } from '../controls/table.ts';
import { looseNumber, looseWhole, looseWholeWithin } from '../fields/loose.ts';
import {
  clamp,
  isAbsent,
  optional,
  orElse,
  type Read,
  reader,
  readFlag,
  readNumber,
  readObject,
  readText,
} from '../fields/readers.ts';
import { each, type Fields, honoured, ignored, type ReadRow, type Table } from '../fields/table.ts';

/** Inside of `options` a value must have its type (`check`); beside them it is read like a native control (`read`). */
function option<Value>(check: Read<unknown>, read: Read<Value>, note?: string) {
  return { ...honoured(optional(read), note), check };
}

/** 0 is a seed like any other in this dialect, while the engine draws a fresh one for it. */
const seedForZero = 2 ** 31 - 1;
const looseSeed = looseWholeWithin(-1, 2 ** 32 - 1);

const samplerNotes: Readonly<Record<string, string>> = {
  seed: 'A negative number draws a fresh one.',
  repeat_last_n: '-1 means the whole context, 0 switches the penalties off.',
};

type SamplerOption = Extract<
  (typeof samplingFields)[SamplingName],
  { readonly apis: { readonly ollama: string } }
>['apis']['ollama'];
const samplerOptions = Object.entries(samplersOfApi('ollama')) as readonly (readonly [SamplingName, SamplerOption])[];

/** The samplers that have a name in this dialect; all others are read as native controls. */
const samplerFields = Object.fromEntries(
  samplerOptions.map(([control, name]) => {
    const loose = samplingFields[control].type === 'integer' ? looseWhole : looseNumber;
    return [name, option(readNumber, control === 'seed' ? looseSeed : loose, samplerNotes[name])];
  }),
) as { readonly [Name in SamplerOption]: ReadRow<number | undefined> & { readonly check: Read<unknown> } };

const readTexts = reader<unknown>(
  'a string or an array of strings',
  (value) => typeof value === 'string' || (Array.isArray(value) && value.every((entry) => typeof entry === 'string')),
);

const atStart = 'Chosen when the server starts.';

const effectiveFields = {
  num_predict: option(
    readNumber,
    looseWhole,
    '-1 and 0 mean the default length of the server, -2 as much as the context holds.',
  ),
  num_ctx: option(readNumber, looseWhole, 'At most the context that the server has.'),
  ...samplerFields,
  stop: option(readTexts, readStop, 'A list or one text.'),
};

/** Every key of `options`; others are ignored, or are native controls. */
export const optionFields = {
  ...effectiveFields,
  num_keep: ignored('The context is never shifted: a reply ends when it is full.', readNumber),
  penalize_newline: ignored('Line breaks are tokens like any other.', readFlag),
  ...each(['num_gpu', 'num_thread', 'num_batch', 'main_gpu'], ignored(atStart, readNumber)),
  ...each(['use_mmap', 'use_mlock', 'low_vram', 'numa', 'f16_kv'], ignored(atStart, readFlag)),
  ...each(['vocab_only', 'logits_all', 'embedding_only'], ignored(atStart, readFlag)),
  draft_num_predict: ignored(atStart, readNumber),
};

/** The options of a request: known ones of the wrong type are refused, unknown ones are ignored. */
export const readOptions: Read<JsonObject> = (value, path) => {
  if (isAbsent(value)) return {};
  const given = Object.entries(readObject(value, path)).filter(([, entry]) => !isAbsent(entry));
  const known: Table = optionFields;
  for (const [name, entry] of given) {
    if (Object.hasOwn(known, name)) known[name]?.check?.(entry, `${path}.${name}`);
  }
  return Object.fromEntries(given);
};

/** Read from the options and the fields beside them, laid flat. */
export const settingFields = {
  ...effectiveFields,
  reasoning_effort: honoured(orElse(readText, '')),
  thinking_budget_tokens: honoured(orElse(looseWhole, -1)),
};

export type Settings = Fields<typeof settingFields>;

/** The controls that this dialect has under its own names, over the shared ones. */
export function optionControls(settings: Settings, base: GenerationControls, parts: ControlParts): GenerationControls {
  const { num_ctx: context, num_predict: length } = settings;
  const { contextSize } = parts;
  const maxContext = context === undefined ? base.maxContext : smallerContext(context, contextSize);
  return {
    ...base,
    // -2 fills the context.
    maxTokens: length === undefined ? base.maxTokens : limitTokens(length === -2 ? contextSize : length || 0, parts),
    maxContext,
    sampling: ownSampling(settings, base.sampling, maxContext ?? contextSize),
    stop: settings.stop ?? base.stop,
  };
}

function ownSampling(settings: Settings, base: Sampling, contextSize: number): Sampling {
  const own: Partial<Record<SamplingName, number>> = {};
  for (const [control, name] of samplerOptions) {
    const value = settings[name];
    if (value === undefined) continue;
    const { min, max }: SamplingField = samplingFields[control];
    own[control] = clamp(Number.isNaN(value) ? base[control] : value, min, max);
  }
  if (own.seed === 0) own.seed = seedForZero;
  return { ...base, ...own, ...penaltyRange(settings.repeat_last_n, contextSize) };
}
