import { expect, test } from 'vitest';
import { bindAll } from '../testing/bind.ts';
import { dialectParts } from '../testing/doubles.ts';
import { openaiEndpoints } from './routes.ts';

const endpoints = bindAll(openaiEndpoints, { ...dialectParts(), replacePlaceholders: (texts) => texts });

test('generating paths ask for the key, those that only inform do not', () => {
  const shown = endpoints.map(({ method, match, path, access, rateLimited }) =>
    [method, match, path, access, ...(rateLimited ? ['queued'] : [])].join(' '),
  );
  expect(shown).toEqual([
    'POST ending /v1/chat/completions guarded queued',
    'POST exact /chat/completions guarded queued',
    'POST ending /v1/chat/completions/input_tokens guarded',
    'POST exact /chat/completions/input_tokens guarded',
    'POST ending /v1/completions guarded queued',
    'POST exact /completions guarded queued',
    'POST ending /v1/embeddings guarded queued',
    'POST exact /embeddings guarded queued',
    'GET ending /v1/models open',
    'GET exact /models open',
    'GET prefix /v1/models/ open',
    'GET prefix /models/ open',
    'POST ending /audio/speech guarded queued',
    'GET ending /audio/voices open',
    'GET ending /audio/models open',
    'POST ending /audio/transcriptions guarded queued',
    'POST ending /audio/translations guarded queued',
    'GET rest /v1/ open',
    'POST rest /v1/ open queued',
    'PUT rest /v1/ open',
    'DELETE rest /v1/ open',
  ]);
});
