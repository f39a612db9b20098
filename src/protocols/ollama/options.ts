import { AppError } from '../../core/errors.ts';
import type { FieldFidelity, Handling } from '../../core/fidelity.ts';
import type { GenerationControls } from '../../core/request.ts';
import { type Sampling, type SamplingName, samplingFields } from '../../core/sampling-fields.ts';
import type { JsonObject } from '../../http/body.ts';
import { type ControlParts, limitTokens } from '../controls/decode.ts';
import { clamp, isAbsent, isObject, readInteger, readNumber } from '../controls/fields.ts';
import { readStop } from '../controls/table.ts';

type OptionType = 'number' | 'integer' | 'flag' | 'texts';

interface Option {
  readonly type: OptionType;
  readonly handling: Handling;
  readonly note?: string;
  /** The sampling control that it sets. */
  readonly control?: SamplingName;
}

const sets = (control: SamplingName, note?: string): Option => ({
  type: samplingFields[control].type,
  handling: 'honoured',
  control,
  ...(note === undefined ? {} : { note }),
});
const without = (type: OptionType, note: string): Option => ({ type, handling: 'ignored', note });

const atStart = 'Chosen when the server starts.';
const noShift = 'The context is never shifted: a reply ends when it is full.';

/** Every key of `options`; what is not here is passed over, or is a native control. */
const optionTable: Readonly<Record<string, Option>> = {
  num_predict: {
    type: 'integer',
    handling: 'honoured',
    note: '-1 and 0 mean the default length of the server, -2 as much as the context holds.',
  },
  num_ctx: { type: 'integer', handling: 'honoured', note: 'At most the context that the server has.' },
  seed: sets('seed', 'A negative number draws a fresh one.'),
  temperature: sets('temperature'),
  top_k: sets('topK'),
  top_p: sets('topP'),
  min_p: sets('minP'),
  typical_p: sets('typical'),
  tfs_z: sets('tailFree'),
  repeat_last_n: sets('repetitionRange', '-1 means the whole context, 0 switches the penalties off.'),
  repeat_penalty: sets('repetitionPenalty'),
  presence_penalty: sets('presencePenalty'),
  frequency_penalty: sets('frequencyPenalty'),
  mirostat: sets('mirostat'),
  mirostat_tau: sets('mirostatTau'),
  mirostat_eta: sets('mirostatEta'),
  stop: { type: 'texts', handling: 'honoured', note: 'A list or one text.' },
  num_keep: without('integer', noShift),
  penalize_newline: without('flag', 'Line breaks are tokens like any other.'),
  num_gpu: without('integer', atStart),
  num_thread: without('integer', atStart),
  num_batch: without('integer', atStart),
  main_gpu: without('integer', atStart),
  use_mmap: without('flag', atStart),
  use_mlock: without('flag', atStart),
  low_vram: without('flag', atStart),
  numa: without('flag', atStart),
  f16_kv: without('flag', atStart),
  vocab_only: without('flag', atStart),
  logits_all: without('flag', atStart),
  embedding_only: without('flag', atStart),
  draft_num_predict: without('integer', atStart),
};

const expectations: Readonly<Record<OptionType, string>> = {
  number: 'a number',
  integer: 'a number',
  flag: 'true or false',
  texts: 'a string or an array of strings',
};

export const optionFidelity: readonly FieldFidelity[] = Object.entries(optionTable).map(
  ([name, { handling, note }]) => ({
    field: `options.${name}`,
    handling,
    ...(note === undefined ? {} : { note }),
  }),
);

/** The options of a request; a known one of the wrong type is named, an unknown one is nobody's business here. */
export function readOptions(body: JsonObject): JsonObject {
  if (isAbsent(body.options)) return {};
  if (!isObject(body.options)) throw new AppError('invalid-field', { field: 'options', expected: 'an object' });
  const given = Object.entries(body.options).filter(([, value]) => !isAbsent(value));
  for (const [name, value] of given) {
    const type = Object.hasOwn(optionTable, name) ? optionTable[name]?.type : undefined;
    if (type !== undefined && !isOfType(value, type)) {
      throw new AppError('invalid-field', { field: `options.${name}`, expected: expectations[type] });
    }
  }
  return Object.fromEntries(given);
}

/** What this dialect calls by names of its own, put over the controls that every family shares. */
export function optionControls(
  settings: JsonObject,
  base: GenerationControls,
  parts: ControlParts,
): GenerationControls {
  const maxContext = isAbsent(settings.num_ctx)
    ? base.maxContext
    : smaller(readInteger(settings.num_ctx, 0), parts.contextSize);
  return {
    ...base,
    maxTokens: isAbsent(settings.num_predict) ? base.maxTokens : replyLength(settings.num_predict, parts),
    maxContext,
    sampling: ownSampling(settings, base.sampling, maxContext ?? parts.contextSize),
    stop: isAbsent(settings.stop) ? base.stop : readStop(settings.stop, 'stop'),
  };
}

const fillContext = -2;

function replyLength(value: unknown, parts: ControlParts): number {
  const asked = readInteger(value, 0);
  return limitTokens(asked === fillContext ? parts.contextSize : asked, parts);
}

function smaller(asked: number, contextSize: number): number | undefined {
  return asked > 0 && asked < contextSize ? asked : undefined;
}

const seedRange = { min: -1, max: 2 ** 32 - 1 };
/** 0 is a seed like any other in this dialect, while the engine draws a fresh one for it. */
const seedForZero = 2 ** 31 - 1;

function ownSampling(settings: JsonObject, base: Sampling, contextSize: number): Sampling {
  const own: Partial<Record<SamplingName, number>> = {};
  for (const [name, { control }] of Object.entries(optionTable)) {
    if (control === undefined || isAbsent(settings[name])) continue;
    const { type, min, max } = samplingFields[control] as { type: string; min?: number; max?: number };
    const read = type === 'integer' ? readInteger : readNumber;
    own[control] = clamp(read(settings[name], base[control]), min, max);
  }
  if (own.seed !== undefined) own.seed = readInteger(settings.seed, base.seed, seedRange) || seedForZero;
  return { ...base, ...own, ...lookback(settings, contextSize) };
}

function lookback(settings: JsonObject, contextSize: number): Partial<Sampling> {
  const asked = readInteger(settings.repeat_last_n, 1);
  if (asked < 0) return { repetitionRange: contextSize };
  return asked === 0 ? { repetitionPenalty: 1, presencePenalty: 0, frequencyPenalty: 0 } : {};
}

function isOfType(value: unknown, type: OptionType): boolean {
  if (type === 'flag') return typeof value === 'boolean';
  if (type !== 'texts') return typeof value === 'number';
  return typeof value === 'string' || (Array.isArray(value) && value.every((entry) => typeof entry === 'string'));
}
