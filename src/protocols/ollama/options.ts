import type { GenerationControls } from '../../core/request.ts';
import { type SamplingField, type SamplingName, samplersOfApi, samplingFields } from '../../core/sampling-fields.ts';
import type { JsonObject } from '../../http/body.ts';
import { type ControlLimits, limitTokens, penaltyRange, smallerContext } from '../controls/decode.ts';
import { readStop } from '../controls/table.ts';
import * as f from '../fields.ts';

/** Inside of `options` a value must have its type (`check`); beside them it is read like a native control (`read`). */
function option<Value>(check: f.Read<unknown>, read: f.Read<Value>, note?: string) {
  return { ...f.honoured(f.optional(read), note), check };
}

/** 0 is a seed like any other in this dialect, while the engine draws a fresh one for it. */
const seedForZero = 2 ** 31 - 1;
const looseSeed = f.looseWholeWithin(-1, 2 ** 32 - 1);

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
    const loose = samplingFields[control].type === 'integer' ? f.looseWhole : f.looseNumber;
    return [name, option(f.readNumber, control === 'seed' ? looseSeed : loose, samplerNotes[name])];
  }),
) as { readonly [Name in SamplerOption]: f.ReadRow<number | undefined> & { readonly check: f.Read<unknown> } };

const readTexts = f.reader<unknown>(
  'a string or an array of strings',
  (value) => typeof value === 'string' || (Array.isArray(value) && value.every((entry) => typeof entry === 'string')),
);

const atStart = 'Chosen when the server starts.';

const effectiveFields = {
  num_predict: option(
    f.readNumber,
    f.looseWhole,
    '-1 and 0 mean the default length of the server, -2 as much as the context holds.',
  ),
  num_ctx: option(f.readNumber, f.looseWhole, 'At most the context that the server has.'),
  ...samplerFields,
  stop: option(readTexts, readStop, 'A list or one text.'),
};

/** Every key of `options`; others are ignored, or are native controls. */
export const optionFields = {
  ...effectiveFields,
  num_keep: f.ignored('The context is never shifted: a reply ends when it is full.', f.readNumber),
  penalize_newline: f.ignored('Line breaks are tokens like any other.', f.readFlag),
  ...f.each(['num_gpu', 'num_thread', 'num_batch', 'main_gpu'], f.ignored(atStart, f.readNumber)),
  ...f.each(['use_mmap', 'use_mlock', 'low_vram', 'numa', 'f16_kv'], f.ignored(atStart, f.readFlag)),
  ...f.each(['vocab_only', 'logits_all', 'embedding_only'], f.ignored(atStart, f.readFlag)),
  draft_num_predict: f.ignored(atStart, f.readNumber),
};

/** The options of a request: known ones of the wrong type are refused, unknown ones are ignored. */
export const readOptions: f.Read<JsonObject> = (value, path) => {
  if (f.isAbsent(value)) return {};
  const entries = Object.entries(f.readObject(value, path)).filter(([, entry]) => !f.isAbsent(entry));
  const known: f.Table = optionFields;
  for (const [name, entry] of entries) {
    if (Object.hasOwn(known, name)) known[name]?.check?.(entry, `${path}.${name}`);
  }
  return Object.fromEntries(entries);
};

/** Read from the options and the fields beside them, laid flat. */
export const settingFields = {
  ...effectiveFields,
  reasoning_effort: f.honoured(f.orElse(f.readText, '')),
  thinking_budget_tokens: f.honoured(f.orElse(f.looseWhole, -1)),
};

export type Settings = f.Fields<typeof settingFields>;

/** The controls that this dialect has under its own names, over the shared ones. */
export function optionControls(
  settings: Settings,
  base: GenerationControls,
  limits: ControlLimits,
): GenerationControls {
  const { num_ctx: context, num_predict: length } = settings;
  const { contextSize } = limits;
  const maxContext = context === undefined ? base.maxContext : smallerContext(context, contextSize);
  return {
    ...base,
    // -2 fills the context.
    maxTokens: length === undefined ? base.maxTokens : limitTokens(length === -2 ? contextSize : length || 0, limits),
    maxContext,
    sampling: ownSampling(settings, base.sampling, maxContext ?? contextSize),
    stop: settings.stop ?? base.stop,
  };
}

function ownSampling(settings: Settings, base: GenerationControls['sampling'], contextSize: number) {
  const own: Partial<Record<SamplingName, number>> = {};
  for (const [control, name] of samplerOptions) {
    const value = settings[name];
    if (value === undefined) continue;
    const { min, max }: SamplingField = samplingFields[control];
    own[control] = f.clamp(Number.isNaN(value) ? base[control] : value, min, max);
  }
  if (own.seed === 0) own.seed = seedForZero;
  return { ...base, ...own, ...penaltyRange(settings.repeat_last_n, contextSize) };
}
