import { AppError } from '../../core/errors.ts';
import {
  defaultSamplerOrder,
  type Sampling,
  type SamplingField,
  type SamplingName,
  samplerStages,
  samplingFields,
} from '../../core/sampling-fields.ts';
import { clamp, isAbsent, type JsonObject, readInteger, readNumber, readTexts } from './fields.ts';

/** The controls for which a chat adapter, of the request or of the server, may carry its own default. */
const adapterFields = ['temperature', 'top_k', 'top_p', 'min_p'] as const;
export type AdapterDefaults = { readonly [Field in (typeof adapterFields)[number]]?: unknown };

const breakers = { count: 128, bytes: 40 };
const unsigned = { min: -1, max: 2 ** 32 - 1 };

/** `adapters` in the order in which they are asked for a default. */
export function decodeSampling(body: JsonObject, adapters: readonly AdapterDefaults[]): Sampling {
  const values = {} as { [Name in SamplingName]: number };
  for (const name of Object.keys(samplingFields) as SamplingName[]) {
    values[name] = decodeControl(body, samplingFields[name], adapters);
  }
  return {
    ...values,
    repetitionPenalty: decodeRepetitionPenalty(body),
    repetitionSlope: values.repetitionSlope > 0 && values.repetitionSlope <= 1 ? values.repetitionSlope : 1,
    seed: readInteger(firstPresent(body, samplingFields.seed.wire), samplingFields.seed.default, unsigned),
    order: decodeOrder(body),
    dryBreakers: readTexts(body, 'dry_sequence_breakers', breakers.count).map(cutToBytes),
  };
}

function decodeControl(body: JsonObject, field: SamplingField, adapters: readonly AdapterDefaults[]): number {
  const read = field.type === 'integer' ? readInteger : readNumber;
  const adapterField = adapterFields.find((name) => name === field.wire[0]);
  const sources = adapterField ? [...adapters].reverse().map((adapter) => adapter[adapterField]) : [];
  const fallback = sources.reduce((value: number, source) => read(source, value), field.default);
  return clamp(read(firstPresent(body, field.wire), fallback), field.min, field.max);
}

function firstPresent(body: JsonObject, names: readonly string[]): unknown {
  for (const name of names) if (!isAbsent(body[name])) return body[name];
  return undefined;
}

/** The one control whose aliases do not shadow each other: the strongest counts, and an absent one counts as off. */
function decodeRepetitionPenalty(body: JsonObject): number {
  const { wire, default: off } = samplingFields.repetitionPenalty;
  return Math.max(...wire.map((name) => readNumber(body[name], off)));
}

function decodeOrder(body: JsonObject): Sampling['order'] {
  const order = body.sampler_order;
  if (isAbsent(order)) return defaultSamplerOrder;
  if (!Array.isArray(order)) {
    throw new AppError('invalid-field', { field: 'sampler_order', expected: 'an array of sampler numbers' });
  }
  if (order.length === 0 || order.length > samplerStages.length) return defaultSamplerOrder;
  return order.flatMap((stage) => samplerStages[readInteger(stage, -1)] ?? []);
}

function cutToBytes(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= breakers.bytes) return text;
  let end = breakers.bytes;
  // A character is kept whole or not at all: 10xxxxxx goes on with the character before it.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
