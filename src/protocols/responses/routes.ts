import type { Call, Endpoint } from '../../http/call.ts';
import { type CreateParts, countTokens, create } from './create.ts';
import { responsesFamily } from './errors.ts';
import { cancel, forget, retrieve } from './stored.ts';

export type ResponsesParts = CreateParts;

/**
 * The short paths must match whole: as endings they would catch those of other families. What is below a response's id
 * is told apart by the handlers, as a path that is known by its beginning has only one of them per method.
 */
export function responsesEndpoints(parts: ResponsesParts): Endpoint[] {
  const guarded = { access: 'guarded', queued: false, family: responsesFamily } as const;
  const post = { ...guarded, method: 'POST' } as const;
  const made = { ...post, queued: true, handle: (call: Call) => create(call, parts) };
  const counted = { ...post, handle: (call: Call) => countTokens(call, parts) };
  const below = (path: string): Endpoint[] => [
    {
      ...guarded,
      method: 'GET',
      match: 'prefix',
      path: `${path}/`,
      summary: `A stored response (${path}/{id}), or the input that it answers (${path}/{id}/input_items).`,
      handle: (call) => retrieve(call, parts),
    },
    {
      ...guarded,
      method: 'DELETE',
      match: 'prefix',
      path: `${path}/`,
      summary: `Forget a stored response (${path}/{id}).`,
      handle: (call) => forget(call, parts),
    },
    {
      ...post,
      match: 'prefix',
      path: `${path}/`,
      summary: `Stop a response in the background (${path}/{id}/cancel).`,
      handle: (call) => cancel(call, parts),
    },
  ];
  return [
    { ...made, match: 'ending', path: '/v1/responses', summary: 'Answer a conversation; stream optional.' },
    { ...made, match: 'exact', path: '/responses', summary: 'Another name for /v1/responses.' },
    { ...counted, match: 'ending', path: '/v1/responses/input_tokens', summary: 'Count the tokens of a request.' },
    {
      ...counted,
      match: 'exact',
      path: '/responses/input_tokens',
      summary: 'Another name for /v1/responses/input_tokens.',
    },
    ...below('/v1/responses'),
    ...below('/responses'),
  ];
}
