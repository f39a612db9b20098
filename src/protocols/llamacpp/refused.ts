import { type Endpoint, json, type Reply } from '../../http/call.ts';
import type { PlainEndpoint } from '../endpoint.ts';
import { errorBody, llamacppFamily } from './errors.ts';

interface Refusal extends Pick<Endpoint, 'method' | 'match' | 'path'> {
  readonly summary: string;
  readonly reply: Reply;
}

const notSupported = (sentence: string): Reply => json(errorBody(501, sentence), 501);
const disabled: Reply = json({ error: { message: 'this feature is disabled', type: 'feature_disabled' } }, 403);

/** What clients of this dialect ask for, and are told in the words that they know is not there. */
const refusals: readonly Refusal[] = [
  {
    method: 'POST',
    match: 'exact',
    path: '/props',
    summary: 'Not there: settings are given at the start of the server.',
    reply: notSupported('This server does not support changing global properties.'),
  },
  {
    method: 'POST',
    match: 'prefix',
    path: '/slots/',
    summary: 'Not there: slots cannot be saved, restored or erased.',
    reply: notSupported('This server does not support saving, restoring or erasing slots.'),
  },
  {
    method: 'POST',
    match: 'exact',
    path: '/lora-adapters',
    summary: 'Not there: adapters are given at the start of the server.',
    reply: notSupported('This server cannot change its LoRA adapters while it runs; start it with --lora FILE.'),
  },
  {
    method: 'POST',
    match: 'ending',
    path: '/chat/completions/control',
    summary: 'Not there: a running reply cannot be told to stop thinking.',
    reply: json({ success: false }),
  },
  { method: 'GET', match: 'exact', path: '/tools', summary: 'Not there: tools of the server.', reply: disabled },
  { method: 'GET', match: 'exact', path: '/cors-proxy', summary: 'Not there: fetching for a page.', reply: disabled },
];

export const refusedEndpoints: readonly PlainEndpoint[] = refusals.map(({ reply, ...endpoint }) => ({
  ...endpoint,
  access: 'guarded',
  queued: false,
  family: llamacppFamily,
  handle: () => reply,
}));
