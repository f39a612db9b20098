import {
  defaultSamplerOrder,
  type Sampling,
  type SamplingField,
  type SamplingName,
  samplingFields,
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
  for (const name of Object.keys(samplingFields) as SamplingName[]) {
    const field = samplingFields[name];
    values[name] = inRange(firstPresent(controls, name), field, defaults[name] ?? field.default);
  }
  return {
    ...values,
    repetitionPenalty: decodeRepetitionPenalty(controls),
    repetitionSlope: values.repetitionSlope > 0 && values.repetitionSlope <= 1 ? values.repetitionSlope : 1,
    order: controls.sampler_order ?? defaultSamplerOrder,
    dryBreakers: controls.dry_sequence_breakers,
  };
}

function inRange(value: number | undefined, { min, max }: SamplingField, fallback: number): number {
  return clamp(numberOr(value, fallback), min, max);
}

function firstPresent(controls: Controls, name: SamplingName): number | undefined {
  for (const field of samplingFields[name].wire) if (controls[field] !== undefined) return controls[field];
  return undefined;
}

/** The one control whose aliases do not shadow each other: the strongest counts, and an absent one counts as off. */
function decodeRepetitionPenalty(controls: Controls): number {
  const { wire, default: off } = samplingFields.repetitionPenalty;
  return Math.max(...wire.map((name) => numberOr(controls[name], off)));
}

/** What was sent and is no number counts as little as what was not sent. */
function numberOr(value: number | undefined, fallback: number): number {
  return value === undefined || Number.isNaN(value) ? fallback : value;
}
