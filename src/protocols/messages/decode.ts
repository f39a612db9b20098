import type { ChatRequest } from '../../chat/request.ts';
import type { GenerationControls } from '../../core/request.ts';
import type { Sliced } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import { limitTokens, readControls } from '../controls/decode.ts';
import type { Controls } from '../controls/table.ts';
import { chatParts, type DialectParts, dialectControls } from '../dialect.ts';
import { readFields } from '../fields/table.ts';
import { Attachments } from '../media.ts';
import { decodeConversation } from './conversation.ts';
import { type CreateFields, createFields } from './fields.ts';
import { decodeOutput, decodeThinking } from './thinking.ts';
import { decodeToolChoice, decodeTools } from './tools.ts';

export interface Decoded {
  /** Without its media, which may have to be fetched first. */
  readonly request: ChatRequest;
  readonly attachments: Attachments;
  readonly stream: boolean;
  readonly genkey: string;
  /** The prompt is to be read into the cache and nothing answered. */
  readonly warmUp: boolean;
  /** Places in the request that have no effect. */
  readonly passed: readonly string[];
}

export function* decode(body: JsonObject, own: DialectParts): Sliced<Decoded> {
  const parts = chatParts(own, body);
  const fields = readFields(createFields, body);
  const native = readControls(body);
  const passed: string[] = [];
  const pass = (field: string) => void passed.push(field);
  const attachments = new Attachments(parts.text.state(), { addresses: true });
  const thinking = decodeThinking(fields);
  const { choice: toolChoice, parallel: parallelToolCalls } = decodeToolChoice(fields);
  const request: ChatRequest = {
    conversation: {
      messages: yield* decodeConversation(fields, { pass, attachments }),
      media: [],
      tools: decodeTools(fields, pass),
    },
    continueAssistantTurn: true,
    toolChoice,
    parallelToolCalls,
    output: decodeOutput(fields, parts.controlParts().schemaToGrammar),
    reasoning: { effort: thinking ? thinking.effort : native.reasoning_effort, separate: true },
    templateVariables: thinking?.variables ?? {},
    memory: fields.memory,
    controls: {
      ...decodeOwnControls(fields, native, parts),
      ...(thinking ? { reasoning: thinking.budget } : {}),
    },
  };
  const { stream, genkey } = fields;
  return { request, attachments, stream, genkey, warmUp: fields.max_tokens === 0, passed };
}

function decodeOwnControls(fields: CreateFields, native: Controls, parts: DialectParts): GenerationControls {
  const { max_tokens: maxTokens, stop_sequences: stop } = fields;
  return {
    ...dialectControls(native, parts),
    ...(maxTokens === undefined ? {} : { maxTokens: replyLimit(maxTokens, parts) }),
    ...(stop === undefined ? {} : { stop }),
  };
}

/** As much as a 32-bit engine can count; what does not fit into the context is cut there. */
const mostTokens = 2 ** 31 - 1;

/** The engine always chooses one token, so a reply of none is one of a single token that is not shown. */
function replyLimit(maxTokens: number, parts: DialectParts): number {
  return limitTokens(Math.min(Math.max(1, maxTokens), mostTokens), parts.controlParts());
}
