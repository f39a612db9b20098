import type { ChatRequest } from '../../chat/request.ts';
import { AppError } from '../../core/errors.ts';
import type { GenerationControls } from '../../core/request.ts';
import type { Sliced } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import { limitTokens, readControls } from '../controls/decode.ts';
import { isAbsent, limitedTexts, readText } from '../controls/fields.ts';
import { chatParts, type DialectParts, dialectControls } from '../dialect.ts';
import { Attachments } from '../media.ts';
import { decodeConversation } from './conversation.ts';
import { optional, readCount, readFinite, readList, readString } from './readers.ts';
import { decodeOutput, decodeThinking } from './thinking.ts';
import { decodeToolChoice, decodeTools } from './tools.ts';

export interface Decoded {
  /** Without its media, which may have to be fetched first. */
  readonly request: ChatRequest;
  readonly attachments: Attachments;
  /** The prompt is to be read into the cache and nothing answered. */
  readonly warmUp: boolean;
  /** Places in the request that have no effect. */
  readonly passed: readonly string[];
}

export function* decode(body: JsonObject, own: DialectParts): Sliced<Decoded> {
  const parts = chatParts(own, body);
  optional(body.model, 'model', readString);
  refuseStored(body);
  const passed: string[] = [];
  const pass = (field: string) => void passed.push(field);
  const attachments = new Attachments(parts.text.state(), { addresses: true });
  const maxTokens = optional(body.max_tokens, 'max_tokens', readCount);
  const thinking = decodeThinking(body);
  const { choice: toolChoice, parallel: parallelToolCalls } = decodeToolChoice(body);
  const request: ChatRequest = {
    conversation: {
      messages: yield* decodeConversation(body, { pass, attachments }),
      media: [],
      tools: decodeTools(body, pass),
    },
    continueAssistantTurn: true,
    toolChoice,
    parallelToolCalls,
    output: decodeOutput(body, parts.controlParts().schemaToGrammar),
    reasoning: { effort: thinking ? thinking.effort : nativeEffort(body), separate: true },
    templateVariables: thinking?.variables ?? {},
    memory: readText(body, 'memory'),
    controls: {
      ...decodeOwnControls(body, maxTokens, parts),
      ...(thinking ? { reasoning: thinking.budget } : {}),
    },
  };
  return { request, attachments, warmUp: maxTokens === 0, passed };
}

/** What these ask for is not an answer to the messages that were sent, so going on without them would be wrong. */
const stored: Readonly<Record<string, string>> = {
  thread: 'this server keeps no conversations; send all messages',
  compaction: 'ask for a summary in a message instead',
};

function refuseStored(body: JsonObject): void {
  for (const [field, instead] of Object.entries(stored)) {
    if (!isAbsent(body[field])) throw new AppError('unsupported', { feature: field, instead });
  }
}

/** `temperature`, `top_p` and `top_k` have their native names; here they are only held to their types. */
function decodeOwnControls(body: JsonObject, maxTokens: number | undefined, parts: DialectParts): GenerationControls {
  for (const field of ['temperature', 'top_p', 'top_k']) optional(body[field], field, readFinite);
  const native = dialectControls(readControls(body), parts);
  const stop = optional(body.stop_sequences, 'stop_sequences', readList)?.map((entry, index) =>
    readString(entry, `stop_sequences[${index}]`),
  );
  return {
    ...native,
    ...(maxTokens === undefined ? {} : { maxTokens: replyLimit(maxTokens, parts) }),
    ...(stop === undefined ? {} : { stop: limitedStop(stop.filter((text) => text !== '')) }),
  };
}

const mostStops = 256;

function limitedStop(stop: readonly string[]): readonly string[] {
  if (stop.length <= mostStops) return limitedTexts('stop_sequences', stop);
  throw new AppError('invalid-field', { field: 'stop_sequences', expected: `at most ${mostStops} texts` });
}

/** As much as a 32-bit engine can count; what does not fit into the context is cut there. */
const mostTokens = 2 ** 31 - 1;

/** The engine always chooses one token, so a reply of none is one of a single token that is not shown. */
function replyLimit(maxTokens: number, parts: DialectParts): number {
  return limitTokens(Math.min(Math.max(1, maxTokens), mostTokens), parts.controlParts());
}

function nativeEffort(body: JsonObject): string | undefined {
  return typeof body.reasoning_effort === 'string' ? body.reasoning_effort : undefined;
}
