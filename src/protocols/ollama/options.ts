import type { GenerationControls } from '../../core/request.ts';
import {
  type Sampling,
  type SamplingField,
  type SamplingName,
  samplersOfApi,
  samplingFields,
} from '../../core/sampling-fields.ts';
import type { JsonObject } from '../../http/body.ts';
import { type ControlParts, limitTokens } from '../controls/decode.ts';
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
import { type Fields, honoured, ignored, type ReadRow, type Table } from '../fields/table.ts';

/**
 * In `options` a value is held to its type (`check`); beside them, where other families put the same names and the server
 * its defaults, it is read like every native control (`read`).
 */
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

/** The samplers that this dialect knows by a name of its own; all others are read as native controls. */
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
const noShift = 'The context is never shifted: a reply ends when it is full.';

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

/** Every key of `options`; what is not here is passed over, or is a native control. */
export const optionFields = {
  ...effectiveFields,
  num_keep: ignored(noShift, readNumber),
  penalize_newline: ignored('Line breaks are tokens like any other.', readFlag),
  num_gpu: ignored(atStart, readNumber),
  num_thread: ignored(atStart, readNumber),
  num_batch: ignored(atStart, readNumber),
  main_gpu: ignored(atStart, readNumber),
  use_mmap: ignored(atStart, readFlag),
  use_mlock: ignored(atStart, readFlag),
  low_vram: ignored(atStart, readFlag),
  numa: ignored(atStart, readFlag),
  f16_kv: ignored(atStart, readFlag),
  vocab_only: ignored(atStart, readFlag),
  logits_all: ignored(atStart, readFlag),
  embedding_only: ignored(atStart, readFlag),
  draft_num_predict: ignored(atStart, readNumber),
};

/** The options of a request; a known one of the wrong type is named, an unknown one is nobody's business here. */
export const readOptions: Read<JsonObject> = (value, path) => {
  if (isAbsent(value)) return {};
  const given = Object.entries(readObject(value, path)).filter(([, entry]) => !isAbsent(entry));
  const known: Table = optionFields;
  for (const [name, entry] of given) {
    if (Object.hasOwn(known, name)) known[name]?.check?.(entry, `${path}.${name}`);
  }
  return Object.fromEntries(given);
};

/** What is read from the options and from what stands beside them, laid flat. */
export const settingFields = {
  ...effectiveFields,
  reasoning_effort: honoured(orElse(readText, '')),
  thinking_budget_tokens: honoured(orElse(looseWhole, -1)),
};

export type Settings = Fields<typeof settingFields>;

/** What this dialect calls by names of its own, put over the controls that every family shares. */
export function optionControls(settings: Settings, base: GenerationControls, parts: ControlParts): GenerationControls {
  const { num_ctx: context, num_predict: length } = settings;
  const maxContext = context === undefined ? base.maxContext : smaller(context, parts.contextSize);
  return {
    ...base,
    maxTokens: length === undefined ? base.maxTokens : replyLength(length || 0, parts),
    maxContext,
    sampling: ownSampling(settings, base.sampling, maxContext ?? parts.contextSize),
    stop: settings.stop ?? base.stop,
  };
}

const fillContext = -2;

function replyLength(asked: number, parts: ControlParts): number {
  return limitTokens(asked === fillContext ? parts.contextSize : asked, parts);
}

function smaller(asked: number, contextSize: number): number | undefined {
  return asked > 0 && asked < contextSize ? asked : undefined;
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
  return { ...base, ...own, ...lookback(settings.repeat_last_n, contextSize) };
}

function lookback(asked: number | undefined, contextSize: number): Partial<Sampling> {
  if (asked === undefined) return {};
  if (asked < 0) return { repetitionRange: contextSize };
  return asked === 0 ? { repetitionPenalty: 1, presencePenalty: 0, frequencyPenalty: 0 } : {};
}
