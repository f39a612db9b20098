import type { EndpointPair, ReplayDialect } from '../inspector/replay.ts';
import { decodeControls, readControls } from '../protocols/controls/decode.ts';
import { dialectControls, randomId } from '../protocols/dialect.ts';
import type { ModelEndpoint } from '../protocols/endpoint.ts';
import { completionEndpoints as llamacppCompletions } from '../protocols/llamacpp/completion.ts';
import * as llamacpp from '../protocols/llamacpp/encode-request.ts';
import * as messages from '../protocols/messages/encode-request.ts';
import { messagesEndpoints } from '../protocols/messages/routes.ts';
import * as native from '../protocols/native/encode-request.ts';
import { generateEndpoints, generateFields } from '../protocols/native/generate.ts';
import * as ollama from '../protocols/ollama/encode-request.ts';
import { generationEndpoints } from '../protocols/ollama/generation.ts';
import { chatEndpoints } from '../protocols/openai/chat/endpoints.ts';
import { completionEndpoints } from '../protocols/openai/completions/endpoints.ts';
import * as openai from '../protocols/openai/encode-request.ts';
import { responseState } from '../protocols/responses/background.ts';
import * as responses from '../protocols/responses/encode-request.ts';
import { responsesEndpoints } from '../protocols/responses/routes.ts';
import type { ModelContext } from './model-context.ts';

type Context = ModelContext;
type Endpoints = readonly ModelEndpoint<Context>[];

const usual = (context: Context) => dialectControls(readControls(context.applyDefaults({})), context);

function pair(endpoints: Endpoints, whole: string, streamed = whole): EndpointPair<Context> {
  const found = (path: string) => endpoints.find((endpoint) => endpoint.path === path) as ModelEndpoint<Context>;
  return { streamed: found(streamed), whole: found(whole) };
}

/** With and without the version in front. */
const both = (path: string, endpoints: EndpointPair<Context>) => ({
  [path]: endpoints,
  [path.replace('/v1', '')]: endpoints,
});

/** The dialects in which the inspector shows a request. Its endpoints are their own: what they store is thrown away. */
export function replayDialects(): readonly ReplayDialect<Context>[] {
  const chat = pair(chatEndpoints, '/v1/chat/completions');
  const completions = pair(completionEndpoints, '/v1/completions');
  const message = pair(messagesEndpoints({ newId: randomId }), '/v1/messages');
  const response = pair(responsesEndpoints(responseState()), '/v1/responses');
  const ollamaChat = pair(generationEndpoints, '/api/chat');
  const ollamaGenerate = pair(generationEndpoints, '/api/generate');
  const generate = pair(generateEndpoints, '/api/v1/generate', '/api/extra/generate/stream');
  const completion = pair(llamacppCompletions, '/completion');
  return [
    {
      name: 'openai',
      title: 'OpenAI chat completions',
      own: both('/v1/chat/completions', chat),
      chat: { ...chat, encode: openai.encodeChatRequest, usual, ownFields: openai.chatOwnFields },
    },
    {
      name: 'responses',
      title: 'OpenAI Responses',
      own: both('/v1/responses', response),
      chat: { ...response, encode: responses.encodeRequest, usual, ownFields: responses.ownFields },
    },
    {
      name: 'messages',
      title: 'Anthropic Messages',
      own: both('/v1/messages', message),
      chat: { ...message, encode: messages.encodeRequest, usual, ownFields: messages.ownFields },
    },
    {
      name: 'ollama',
      title: 'Ollama',
      own: { '/api/chat': ollamaChat, '/api/generate': ollamaGenerate },
      chat: { ...ollamaChat, encode: ollama.encodeChatRequest, usual, ownFields: ollama.ownFields },
      text: { ...ollamaGenerate, encode: ollama.encodeGenerateRequest, usual, ownFields: ollama.ownFields },
    },
    {
      name: 'completions',
      title: 'OpenAI completions',
      own: both('/v1/completions', completions),
      text: { ...completions, encode: openai.encodeCompletionRequest, usual, ownFields: openai.completionOwnFields },
    },
    {
      name: 'native',
      title: 'KoboldAI (native)',
      own: { '/api/v1/generate': generate, '/api/latest/generate': generate, '/api/extra/generate/stream': generate },
      text: {
        ...generate,
        encode: native.encodeRequest,
        // A prompt that does not fit always loses its beginning here.
        usual: (context) => decodeControls(readControls(context.applyDefaults({})), context.controlParts()),
        ownFields: Object.keys(generateFields),
      },
    },
    {
      name: 'llamacpp',
      title: 'llama.cpp server',
      own: { '/completion': completion },
      text: { ...completion, encode: llamacpp.encodeRequest, usual, ownFields: llamacpp.ownFields },
    },
  ];
}
