import { AppError } from '../../core/errors.ts';
import { jsonObject } from '../../http/body.ts';
import { json } from '../../http/call.ts';
import type { PlainEndpoint } from '../endpoint.ts';
import { nativeFamily } from './errors.ts';

/** There is no engine for music yet. Both paths say so, each in the way that its client looks for. */
export function musicEndpoints(): PlainEndpoint[] {
  const common = {
    method: 'POST',
    match: 'ending',
    access: 'guarded',
    queued: true,
    modelSelection: 'any-name',
    family: nativeFamily,
  } as const;
  return [
    {
      ...common,
      path: '/api/extra/music/prepare',
      summary: 'Plans for a song. There is no engine for music yet: the reply says so.',
      // With 200: the page for music looks for this object, and plans with the text model then.
      handle: () => json({ error: sentence }),
    },
    {
      ...common,
      path: '/api/extra/music/generate',
      summary: 'A song. There is no engine for music yet: the reply says so.',
      handle: async ({ body, signal }) => {
        await jsonObject(body, { empty: 'refuse', signal });
        throw new AppError('model-unavailable', { sentence });
      },
    },
  ];
}

const sentence = 'No music model is loaded: there is no engine for music yet.';
