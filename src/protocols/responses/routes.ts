import type { Call, Reply } from '../../http/call.ts';
import type { DialectParts } from '../dialect.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import type { ResponseState } from './background.ts';
import { type CreateParts, countTokens, create } from './create.ts';
import { responsesFamily } from './errors.ts';
import { cancel, forget, retrieve } from './stored.ts';

/**
 * The short paths must match whole: as endings they would catch those of other families. What is below a response's id
 * is told apart by the handlers, as a path that is known by its beginning has only one of them per method.
 */
export function responsesEndpoints(state: ResponseState): ModelEndpoint<DialectParts>[] {
  const guarded = { access: 'guarded', queued: false, family: responsesFamily } as const;
  const post = { ...guarded, method: 'POST' } as const;
  const handled = (handle: (call: Call, parts: CreateParts) => Promise<Reply>) => (call: Call, parts: DialectParts) =>
    handle(call, { ...parts, ...state });
  const made = { ...post, queued: true, handle: handled(create) };
  const counted = { ...post, handle: handled(countTokens) };
  const below = (path: string): ModelEndpoint<DialectParts>[] => [
    {
      ...guarded,
      method: 'GET',
      match: 'prefix',
      path: `${path}/`,
      summary: `A stored response (${path}/{id}), or the input that it answers (${path}/{id}/input_items).`,
      handle: (call) => retrieve(call, state),
    },
    {
      ...guarded,
      method: 'DELETE',
      match: 'prefix',
      path: `${path}/`,
      summary: `Forget a stored response (${path}/{id}).`,
      handle: (call) => forget(call, state),
    },
    {
      ...post,
      match: 'prefix',
      path: `${path}/`,
      summary: `Stop a response in the background (${path}/{id}/cancel).`,
      handle: (call) => cancel(call, state),
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
