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

/** Aborted text is handed out as if it had reached its limit: clients know no other word for it. */
const finishReasons: Record<FinishReason, string> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  aborted: 'length',
};

/**
 * The web client reads frames with a regular expression, so both lines, their order and the single spaces are fixed.
 * Text comes out as it is made, thinking included; the end is always one frame of its own with an empty token.
 */
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
        // Tools are never offered to the model here, so it has none to call.
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
  const told = [
    `"token": "", "finish_reason": "${reason}"`,
    ...(error ? [`"error": {"message": ${quote(error.message)}, "type": "${errorType(error)}"}`] : []),
    ...(warnings.length > 0 ? [`"warnings": [${warnings.map(quote).join(', ')}]`] : []),
  ];
  return messageFrame(`{${told.join(', ')}}`);
}

const notAscii = /[\u0080-\uffff]/;
const everyNotAscii = /[\u0080-\uffff]/g;

function quote(text: string): string {
  const quoted = JSON.stringify(text);
  return notAscii.test(quoted) ? quoted.replace(everyNotAscii, escapeUnit) : quoted;
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

export function encodeReply(generation: Generation, options: { readonly logprobs: boolean }): object {
  const { usage, warnings } = generation;
  return result({
    text: generation.reasoning + generation.text,
    tool_calls: [],
    finish_reason: finishReasons[generation.reason],
    logprobs: options.logprobs ? encodeLogprobs(generation.logprobs) : null,
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    ...(warnings.length > 0 ? { warnings } : {}),
  });
}

/** Without a model clients expect an empty text, not a failed request; what is wrong stands beside it. */
export function encodeEmptyReply(error: AppError): object {
  return result({
    text: '',
    tool_calls: [],
    finish_reason: 'error',
    logprobs: null,
    prompt_tokens: 0,
    completion_tokens: 0,
    error: { message: error.message, type: errorType(error) },
  });
}

function result(fields: object): object {
  return { results: [fields] };
}

/** Nothing is reported as less likely than one in ten thousand; clients draw bars from these numbers. */
const floor = Math.log(0.0001);

/** The same tokens told six times over, as the clients of two older dialects look for them. */
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
