import { type SamplingField, samplersOfApi, samplingFields, samplingNames } from '../../../src/core/sampling-fields.ts';
import { fieldsOf, numberIn } from '../api/loose.ts';

/** What the server uses for fields that a request does not set. */
export interface ServerDefaults {
  /** By the field names of the native API. */
  readonly sampling: Readonly<Record<string, number>>;
  readonly replyLength: number | undefined;
}

const names = samplersOfApi('llamaCpp');

/** The defaults in the answer of `/props`. Samplers that it does not have are those of the table. */
export function defaultsOf(props: unknown): ServerDefaults {
  const params = fieldsOf(fieldsOf(fieldsOf(props).default_generation_settings).params);
  const sampling = samplingNames.map((name): [string, number] => {
    const { wire, default: fallback }: SamplingField = samplingFields[name];
    return [wire[0], round(numberIn(params[names[name] ?? ''], fallback))];
  });
  const length = numberIn(params.n_predict, 0);
  return { sampling: Object.fromEntries(sampling), replyLength: length > 0 ? length : undefined };
}

/** Some servers send single-precision numbers: 0.1 as 0.10000000149011612. */
const round = (value: number): number => Number(value.toPrecision(6));
