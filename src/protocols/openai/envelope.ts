/** What every chunk and every whole reply of one request begins with. */
export interface Envelope {
  readonly id: string;
  readonly object: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
  /** Told back to clients that asked for one; there is only one tier here. */
  readonly serviceTier: boolean;
}

/** Tests of llama.cpp's server want a `b` in front. */
const fingerprint = 'b_parley';

export function envelopeFields({ id, object, created, model, serviceTier }: Envelope): object {
  const tier = serviceTier ? { service_tier: 'default' } : {};
  return { id, object, created, model, system_fingerprint: fingerprint, ...tier };
}

/** The same as the open beginning of a JSON object, made once for all chunks of a stream. */
export function envelopeHead(envelope: Envelope): string {
  return `${JSON.stringify(envelopeFields(envelope)).slice(0, -1)},`;
}
