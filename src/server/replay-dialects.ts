import type { EndpointPair, ReplayDialect } from '../inspector/replay.ts';
import { decodeControls, readControls } from '../protocols/controls/decode.ts';
import { type DialectServices, dialectControls } from '../protocols/dialect.ts';
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

type Context = ModelContext & DialectServices;
type Endpoints = readonly ModelEndpoint<Context>[];

const usual = (context: Context) => dialectControls(readControls(context.applyDefaults({})), context.controlParts());

/** The endpoints of a list whose requests can be shown in other dialects, and the same by all their paths. */
function replayed(endpoints: Endpoints, kind: 'chat' | 'text') {
  const rows = endpoints.filter(({ replayedAs }) => replayedAs === kind);
  const whole = rows[0] as ModelEndpoint<Context>;
  // Most answer both.
  const streamed = rows.find((row) => row !== whole && row.aliasOf === undefined) ?? whole;
  const pair: EndpointPair<Context> = { whole, streamed };
  return { pair, own: Object.fromEntries(rows.map(({ path }) => [path, pair])) };
}

/** The dialects in which the inspector shows a request. Its endpoints are their own: what they store is thrown away. */
export function replayDialects(server: DialectServices): readonly ReplayDialect<Context>[] {
  const chat = replayed(chatEndpoints, 'chat');
  const completions = replayed(completionEndpoints, 'text');
  const message = replayed(messagesEndpoints(server), 'chat');
  const response = replayed(responsesEndpoints(responseState(), server), 'chat');
  const ollamaChat = replayed(generationEndpoints, 'chat');
  const ollamaGenerate = replayed(generationEndpoints, 'text');
  const generate = replayed(generateEndpoints, 'text');
  const completion = replayed(llamacppCompletions, 'text');
  return [
    {
      name: 'openai',
      title: 'OpenAI chat completions',
      own: chat.own,
      chat: { ...chat.pair, encode: openai.encodeChatRequest, usual, ownFields: openai.chatOwnFields },
    },
    {
      name: 'responses',
      title: 'OpenAI Responses',
      own: response.own,
      chat: { ...response.pair, encode: responses.encodeRequest, usual, ownFields: responses.ownFields },
    },
    {
      name: 'messages',
      title: 'Anthropic Messages',
      own: message.own,
      chat: { ...message.pair, encode: messages.encodeRequest, usual, ownFields: messages.ownFields },
    },
    {
      name: 'ollama',
      title: 'Ollama',
      own: { ...ollamaChat.own, ...ollamaGenerate.own },
      chat: { ...ollamaChat.pair, encode: ollama.encodeChatRequest, usual, ownFields: ollama.ownFields },
      text: { ...ollamaGenerate.pair, encode: ollama.encodeGenerateRequest, usual, ownFields: ollama.ownFields },
    },
    {
      name: 'completions',
      title: 'OpenAI completions',
      own: completions.own,
      text: {
        ...completions.pair,
        encode: openai.encodeCompletionRequest,
        usual,
        ownFields: openai.completionOwnFields,
      },
    },
    {
      name: 'native',
      title: 'KoboldAI (native)',
      own: generate.own,
      text: {
        ...generate.pair,
        encode: native.encodeRequest,
        // A prompt that does not fit always loses its beginning here.
        usual: (context) => decodeControls(readControls(context.applyDefaults({})), context.controlParts()),
        ownFields: Object.keys(generateFields),
      },
    },
    {
      name: 'llamacpp',
      title: 'llama.cpp server',
      own: completion.own,
      text: { ...completion.pair, encode: llamacpp.encodeRequest, usual, ownFields: llamacpp.ownFields },
    },
  ];
}
