import type { TextState } from '../../core/text-service.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { errorBody, llamacppFamily } from './errors.ts';
import { type PropsParts, propsBody } from './props.ts';

export interface StatusParts extends PropsParts {
  readonly metrics: {
    exposition(): Promise<{ readonly contentType: string; readonly text: string }>;
  };
  readonly loras: readonly { readonly path: string; readonly scale: number }[];
}

const get = { method: 'GET', match: 'exact', queued: false, family: llamacppFamily } as const;
const health = ({ authorized }: Call, { text }: StatusParts) => healthReply(text.state(), authorized);

export const statusEndpoints: readonly ModelEndpoint<StatusParts>[] = [
  {
    ...get,
    access: 'open',
    path: '/props',
    summary: 'Chat template, context size, default settings, and whether images and sound can be read.',
    handle: ({ authorized }, parts) => json(propsBody(parts, authorized)),
  },
  { ...get, access: 'open', path: '/health', summary: 'Whether requests can be served now.', handle: health },
  { ...get, access: 'open', path: '/v1/health', summary: 'Another name for /health.', handle: health },
  {
    ...get,
    access: 'guarded',
    path: '/slots',
    summary: 'What runs now, in figures: no texts.',
    handle: slotsReply,
  },
  {
    ...get,
    access: 'guarded',
    path: '/metrics',
    summary: 'Figures for Prometheus.',
    handle: (_, parts) => metricsReply(parts),
  },
  {
    ...get,
    access: 'guarded',
    path: '/lora-adapters',
    summary: 'The LoRA adapters of the text model.',
    handle: (_, { loras }) => json(loras.map(({ path, scale }, id) => loraBody(id, path, scale))),
  },
];

const hiddenFailure = 'The model could not be loaded; the log of the server says why.';

/** A server that was started without a text model is as well as it was meant to be; so is one whose model sleeps. */
function healthReply(state: TextState, authorized: boolean): Reply {
  switch (state.type) {
    case 'ready':
    case 'none':
      return json({ status: 'ok' });
    case 'loading':
      return state.asleep ? json({ status: 'ok' }) : json(errorBody(503, 'Loading model'), 503);
    case 'failed':
      return json(
        errorBody(500, authorized ? `${state.name} could not be loaded: ${state.reason}` : hiddenFailure),
        500,
      );
  }
}

/** Those who balance load between servers ask for a failure where there is no slot for them. */
function slotsReply({ query }: Call, { slots, text }: StatusParts): Reply {
  const wanted = query.get('fail_on_no_slot');
  if (wanted !== null && wanted !== '0' && slots.allBusy) return json(errorBody(503, 'no slot available'), 503);
  return json(slots.report(text.contextSize()));
}

async function metricsReply({ metrics, startedAt }: StatusParts): Promise<Reply> {
  const { contentType, text } = await metrics.exposition();
  const headers = { 'content-type': contentType, 'process-start-time-unix': String(Math.floor(startedAt / 1000)) };
  return { status: 200, headers, body: text };
}

/** The folder of an adapter is nobody's business. */
function loraBody(id: number, path: string, scale: number): object {
  return { id, path: path.split(/[\\/]/).at(-1) ?? '', scale, task_name: '', prompt_prefix: '' };
}
