import {
  defaultSamplerOrder,
  type Sampling,
  type SamplingField,
  type SamplingName,
  samplingFields,
  samplingNames,
} from '../../core/sampling-fields.ts';
import { clamp } from '../fields/readers.ts';
import type { Controls } from './table.ts';

/** The controls for which a chat adapter, of the request or of the server, may carry its own default. */
const adapterControls = { temperature: 'temperature', topK: 'top_k', topP: 'top_p', minP: 'min_p' } as const;
export type AdapterDefaults = { readonly [Name in keyof typeof adapterControls]?: number };

/** The first that has a value gives the default: the adapter of the request, that of the server, the table. */
export function decodeSampling(controls: Controls, loaded: AdapterDefaults): Sampling {
  const defaults: Partial<Record<SamplingName, number>> = {};
  for (const name of Object.keys(adapterControls) as (keyof typeof adapterControls)[]) {
    const fallback = loaded[name] ?? samplingFields[name].default;
    defaults[name] = inRange(controls.adapter[adapterControls[name]], samplingFields[name], fallback);
  }
  const values = {} as { [Name in SamplingName]: number };
  for (const name of samplingNames) {
    const field: SamplingField = samplingFields[name];
    values[name] = inRange(sentValue(controls, name), field, defaults[name] ?? field.default);
  }
  return {
    ...values,
    repetitionSlope: values.repetitionSlope > 0 && values.repetitionSlope <= 1 ? values.repetitionSlope : 1,
    order: controls.sampler_order ?? defaultSamplerOrder,
    dryBreakers: controls.dry_sequence_breakers,
  };
}

function inRange(value: number | undefined, { min, max }: SamplingField, fallback: number): number {
  return clamp(numberOr(value, fallback), min, max);
}

/** The value under the first name present, or the highest of all names, where an absent one counts as the default. */
function sentValue(controls: Controls, name: SamplingName): number | undefined {
  const { highestWins, default: usual }: SamplingField = samplingFields[name];
  const values = samplingFields[name].wire.map((field) => controls[field]);
  return highestWins ? Math.max(...values.map((value) => numberOr(value, usual))) : values.find(isPresent);
}

const isPresent = (value: number | undefined): boolean => value !== undefined;

/** What was sent and is no number counts as little as what was not sent. */
function numberOr(value: number | undefined, fallback: number): number {
  return value === undefined || Number.isNaN(value) ? fallback : value;
}
