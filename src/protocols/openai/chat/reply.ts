import type { Generation } from '../../../core/fold.ts';
import { type Envelope, envelopeFields } from '../envelope.ts';
import { encodeLogprobs } from '../logprobs.ts';
import { promptFigures } from '../prompt-logprobs.ts';
import { stopReason } from '../stop-reason.ts';
import { encodeTimings, encodeUsage } from '../usage.ts';
import { finishReason } from './choice.ts';

export interface ReplyShape {
  readonly envelope: Envelope;
  readonly legacyCalls: boolean;
  readonly logprobs: boolean;
  readonly promptLogprobs?: number | undefined;
}

export function encodeChatReply(generations: readonly Generation[], shape: ReplyShape): object {
  const warnings = [...new Set(generations.flatMap(({ warnings }) => warnings))];
  return {
    ...envelopeFields(shape.envelope),
    choices: generations.map((generation, index) => ({
      index,
      message: message(generation, shape.legacyCalls),
      logprobs: shape.logprobs ? encodeLogprobs(generation.logprobs) : null,
      finish_reason: finishReason(generation.reason, shape.legacyCalls),
      ...stopReason(generation),
    })),
    usage: encodeUsage(generations, generations.length),
    timings: encodeTimings(generations, generations.length),
    // All replies have the same prompt.
    ...promptFigures(generations[0]?.promptLogprobs, shape.promptLogprobs),
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

/** Keys of what is not there are left out, as their presence alone means something to some clients; content never is. */
function message({ text, reasoning, toolCalls }: Generation, legacyCalls: boolean): object {
  const calls = toolCalls.map(({ id, name, json }) => ({ id, type: 'function', function: called(name, json) }));
  const [first] = toolCalls;
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: null,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length > 0 && !legacyCalls ? { tool_calls: calls } : {}),
    ...(first && legacyCalls ? { function_call: called(first.name, first.json) } : {}),
  };
}

function called(name: string, json: string): object {
  return { name, arguments: json };
}
