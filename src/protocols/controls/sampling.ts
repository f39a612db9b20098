import { AppError } from '../../core/errors.ts';
import {
  defaultSamplerOrder,
  type Sampling,
  type SamplingField,
  type SamplingName,
  samplerStages,
  samplingFields,
} from '../../core/sampling-fields.ts';
import type { JsonObject } from '../../http/body.ts';
import { clamp, isAbsent, readInteger, readNumber, readTexts } from './fields.ts';

/** The controls for which a chat adapter, of the request or of the server, may carry its own default. */
const adapterControls = ['temperature', 'topK', 'topP', 'minP'] as const satisfies readonly SamplingName[];
export type AdapterDefaults = { readonly [Name in (typeof adapterControls)[number]]?: number };

const breakers = { count: 128, bytes: 40 };
const unsigned = { min: -1, max: 2 ** 32 - 1 };

/** `adapter` is the object of the request, `loaded` that of the server; the first that has a value gives the default. */
export function decodeSampling(body: JsonObject, adapter: JsonObject, loaded: AdapterDefaults): Sampling {
  const defaults: Partial<Record<SamplingName, number>> = {};
  for (const name of adapterControls) {
    const field = samplingFields[name];
    defaults[name] = readControl(adapter, field, loaded[name] ?? field.default);
  }
  const values = {} as { [Name in SamplingName]: number };
  for (const name of Object.keys(samplingFields) as SamplingName[]) {
    const field = samplingFields[name];
    values[name] = readControl(body, field, defaults[name] ?? field.default);
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

function readControl(body: JsonObject, field: SamplingField, fallback: number): number {
  const read = field.type === 'integer' ? readInteger : readNumber;
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
