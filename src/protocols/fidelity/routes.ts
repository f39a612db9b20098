import type { EndpointFidelity } from '../../core/fidelity.ts';
import { json } from '../../http/call.ts';
import type { PlainEndpoint } from '../endpoint.ts';
import { fidelityFamily } from './errors.ts';
import { handlings } from './handlings.ts';

/** What becomes of each field of each request, as the tables say that the decoders and the documentation go by. */
export function fidelityEndpoint(endpoints: readonly EndpointFidelity[]): PlainEndpoint {
  const reply = json({ handling: handlings, endpoints });
  return {
    method: 'GET',
    match: 'ending',
    path: '/api/extra/fidelity',
    access: 'open',
    queued: false,
    summary: 'Which fields of each API are honoured, approximated, ignored or refused.',
    family: fidelityFamily,
    handle: () => reply,
  };
}
