import type { ChatRequest } from '../chat/request.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { ReplayDialect, ReplayTarget } from '../inspector/replay.ts';
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
type Encode<Request> = ReplayTarget<Context, Request>['encode'];

const defaults = (context: Context) =>
  dialectControls(readControls(context.applyDefaults({})), context.controlLimits());

/** The endpoints of a list whose requests can be shown in other dialects, and the same by all their paths. */
function replayed<Kind extends 'chat' | 'text'>(
  kind: Kind,
  endpoints: Endpoints,
  encode: Encode<Kind extends 'chat' ? ChatRequest : GenerationRequest>,
  ownFields: readonly string[],
) {
  const rows = endpoints.filter(({ replayedAs }) => replayedAs === kind);
  const whole = rows[0] as ModelEndpoint<Context>;
  // Most answer both.
  const pair = { whole, streamed: rows.find((row) => row !== whole && row.aliasOf === undefined) ?? whole };
  const own = Object.fromEntries(rows.map(({ path }) => [path, pair]));
  const target = { ...pair, encode, defaults, ownFields };
  return { own, [kind]: target } as { readonly own: typeof own } & Readonly<Record<Kind, typeof target>>;
}

/** The dialects in which the inspector shows a request. Its endpoints are their own: what they store is thrown away. */
export function replayDialects(server: DialectServices): readonly ReplayDialect<Context>[] {
  const { encodeChatRequest, chatOwnFields, encodeCompletionRequest, completionOwnFields } = openai;
  const response = responsesEndpoints(responseState(), server);
  const ollamaChats = replayed('chat', generationEndpoints, ollama.encodeChatRequest, ollama.ownFields);
  const ollamaTexts = replayed('text', generationEndpoints, ollama.encodeGenerateRequest, ollama.ownFields);
  const generate = replayed('text', generateEndpoints, native.encodeRequest, Object.keys(generateFields));
  // A prompt that does not fit always loses its beginning here.
  const trimming = (context: Context) =>
    decodeControls(readControls(context.applyDefaults({})), context.controlLimits());
  const own = { ...ollamaChats.own, ...ollamaTexts.own };
  return [
    {
      name: 'openai',
      title: 'OpenAI chat completions',
      ...replayed('chat', chatEndpoints, encodeChatRequest, chatOwnFields),
    },
    {
      name: 'responses',
      title: 'OpenAI Responses',
      ...replayed('chat', response, responses.encodeRequest, responses.ownFields),
    },
    {
      name: 'messages',
      title: 'Anthropic Messages',
      ...replayed('chat', messagesEndpoints(server), messages.encodeRequest, messages.ownFields),
    },
    { name: 'ollama', title: 'Ollama', ...ollamaChats, ...ollamaTexts, own },
    {
      name: 'completions',
      title: 'OpenAI completions',
      ...replayed('text', completionEndpoints, encodeCompletionRequest, completionOwnFields),
    },
    { name: 'native', title: 'KoboldAI (native)', ...generate, text: { ...generate.text, defaults: trimming } },
    {
      name: 'llamacpp',
      title: 'llama.cpp server',
      ...replayed('text', llamacppCompletions, llamacpp.encodeRequest, llamacpp.ownFields),
    },
  ];
}
