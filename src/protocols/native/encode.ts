import { type AppError, asAppError } from '../../core/errors.ts';
import {
  type FinishReason,
  type GenerationEvent,
  type TokenChoice,
  type TokenLogprob,
  unreachable,
} from '../../core/events.ts';
import type { Generation } from '../../core/fold.ts';
import { messageFrame } from '../../http/sse.ts';
import { errorType } from './errors.ts';

/** An aborted generation counts as one that reached its limit: clients know no other word. */
const finishReasons: Record<FinishReason, string> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  aborted: 'length',
};

/** Clients parse frames with a regular expression, so their lines, order and single spaces are fixed. */
export async function* encodeStream(events: AsyncIterable<GenerationEvent>): AsyncGenerator<string> {
  const warnings: string[] = [];
  try {
    for await (const event of events) {
      switch (event.type) {
        case 'text-delta':
        case 'reasoning-delta':
          if (event.text !== '') yield messageFrame(`{"token": ${quote(event.text)}, "finish_reason": null}`);
          break;
        case 'start':
        case 'prompt-logprobs':
        // No tools are offered to the model.
        case 'tool-start':
        case 'tool-delta':
        case 'tool-end':
          break;
        case 'warning':
          warnings.push(event.text);
          break;
        case 'finish':
          yield lastFrame(finishReasons[event.reason], warnings);
          return;
        case 'error':
          yield lastFrame('error', warnings, event.error);
          return;
        default:
          unreachable(event);
      }
    }
  } catch (error) {
    yield lastFrame('error', warnings, asAppError(error));
    return;
  }
  yield lastFrame(finishReasons.aborted, warnings);
}

/** The frames of a server that has no text model. */
export async function* encodeFailure(error: AppError): AsyncGenerator<string> {
  yield lastFrame('error', [], error);
}

function lastFrame(reason: string, warnings: readonly string[], error?: AppError): string {
  const members = [
    `"token": "", "finish_reason": "${reason}"`,
    ...(error ? [`"error": {"message": ${quote(error.message)}, "type": "${errorType(error)}"}`] : []),
    ...(warnings.length > 0 ? [`"warnings": [${warnings.map(quote).join(', ')}]`] : []),
  ];
  return messageFrame(`{${members.join(', ')}}`);
}

/** JSON in ASCII only. */
function quote(text: string): string {
  return JSON.stringify(text).replace(/[\u0080-\uffff]/g, escapeUnit);
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

export function encodeReply(generation: Generation, options: { readonly logprobs: boolean }): object {
  const { usage, warnings } = generation;
  const result = {
    text: generation.reasoning + generation.text,
    tool_calls: [],
    finish_reason: finishReasons[generation.reason],
    logprobs: options.logprobs ? encodeLogprobs(generation.logprobs) : null,
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    ...(warnings.length > 0 ? { warnings } : {}),
  };
  return { results: [result] };
}

/** Without a model clients expect an empty text, not a failed request; the error is beside it. */
export function encodeEmptyReply(error: AppError): object {
  const empty = { text: '', tool_calls: [], finish_reason: 'error', logprobs: null };
  const counts = { prompt_tokens: 0, completion_tokens: 0 };
  return { results: [{ ...empty, ...counts, error: { message: error.message, type: errorType(error) } }] };
}

/** Nothing is reported as less likely than one in ten thousand; clients draw bars from these numbers. */
const floor = Math.log(0.0001);

/** The same tokens in six forms, as the clients of two older dialects look for them. */
export function encodeLogprobs(tokens: readonly TokenLogprob[]): object {
  let offset = 0;
  const offsets = tokens.map(({ text }) => {
    const start = offset;
    offset += [...text].length;
    return start;
  });
  return {
    content: tokens.map((token) => ({ ...choice(token), top_logprobs: token.top.slice(0, 10).map(choice) })),
    tokens: tokens.map(({ text }) => text),
    token_ids: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(floored),
    top_logprobs: tokens.map(({ top }) =>
      Object.fromEntries(top.slice(0, 10).map((each) => [each.text, floored(each)])),
    ),
    text_offset: offsets,
  };
}

function choice(token: TokenChoice): object {
  return { token: token.text, token_id: token.token, logprob: floored(token), bytes: token.bytes };
}

function floored({ logprob }: TokenChoice): number {
  return Math.max(logprob, floor);
}
