import { asAppError } from '../../core/errors.ts';
import {
  abortedUnstarted,
  type FinishReason,
  type GenerationEvent,
  type TokenChoice,
  type TokenLogprob,
  unreachable,
} from '../../core/events.ts';
import { fold, type ToolCall } from '../../core/fold.ts';
import { isObject, tryParseJson } from '../../core/json.ts';
import { alignedLogprobs } from '../logprob-alignment.ts';
import { errorLine } from './errors.ts';

/** Where the two endpoints put the text of the model; all else of their replies is the same. */
export interface Shape {
  text(text: string): string;
  thinking(text: string): string;
  /** Undefined where no tools can be called. */
  calls?(calls: string): string;
  whole(text: string, thinking: string, calls: readonly object[]): object;
}

const quote = (text: string): string => JSON.stringify(text);

export const chatShape: Shape = {
  text: (text) => `"message":{"role":"assistant","content":${quote(text)}}`,
  thinking: (text) => `"message":{"role":"assistant","content":"","thinking":${quote(text)}}`,
  calls: (calls) => `"message":{"role":"assistant","content":"","tool_calls":${calls}}`,
  whole: (text, thinking, calls) => ({
    message: {
      role: 'assistant',
      content: text,
      ...(thinking === '' ? {} : { thinking }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  }),
};

export const completionShape: Shape = {
  text: (text) => `"response":${quote(text)}`,
  thinking: (text) => `"response":"","thinking":${quote(text)}`,
  whole: (text, thinking) => ({ response: text, ...(thinking === '' ? {} : { thinking }) }),
};

/** What both forms of a reply, streamed and whole, need beside the events. */
export interface ReplyFacts {
  /** As the client wrote it: apps compare it with what they sent. */
  readonly model: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly startedAt: number;
  /** The tokens that the next request may carry as `context`, where this endpoint returns them. */
  readonly context?: (reply: { readonly reasoning: string; readonly text: string }) => Promise<readonly number[]>;
}

type Finish = GenerationEvent & { readonly type: 'finish' };

/** This dialect has no word for calls, and none for an abort, which counts as reaching the limit. */
const doneReasons: Record<FinishReason, string> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'stop',
  aborted: 'length',
};

/** A reply as lines of JSON, the last one with `done` or an `error`. Calls are sent whole. */
export async function* encodeStream(events: AsyncIterable<GenerationEvent>, shape: Shape, facts: ReplyFacts) {
  const head = `{"model":${JSON.stringify(facts.model)},"created_at":"`;
  const piece = (content: string, logprobs?: readonly TokenLogprob[]): string => {
    const figures = logprobs ? `,"logprobs":${JSON.stringify(encodeLogprobs(logprobs))}` : '';
    return `${head}${timestamp(facts.now())}",${content},"done":false${figures}}\n`;
  };
  const spoken = alignedLogprobs();
  const calls = new Map<number, ToolCall>();
  const warnings: string[] = [];
  const reply = { reasoning: '', text: '' };

  /** Empty unless the arguments of the call are whole. */
  function callLine(index: number, cut: boolean): string {
    const call = calls.get(index);
    const whole = call && encodeCall(index, call, cut);
    if (!whole || !shape.calls) return '';
    calls.delete(index);
    return piece(shape.calls(JSON.stringify([whole])));
  }

  async function end(finish: Finish): Promise<string> {
    const cut = isCut(finish.reason);
    const whole = [...calls.keys()].map((index) => callLine(index, cut)).join('');
    // The other calls were cut off by the limit, or are text that only began like a call.
    const left = [...calls.values()];
    if (cut) warnings.push(...left.map(cutOffWarning));
    const texts = cut ? '' : left.map(({ json }) => piece(shape.text(json))).join('');
    const context = facts.context && JSON.stringify(await facts.context(reply));
    const now = facts.now();
    const last = [
      `${head}${timestamp(now)}",${shape.text('')},"done":true,"done_reason":"${doneReasons[finish.reason]}"`,
      ...(context === undefined ? [] : [`"context":${context}`]),
      JSON.stringify(metrics(finish, now - facts.startedAt)).slice(1, -1),
      ...(warnings.length === 0 ? [] : [`"warnings":${JSON.stringify(warnings)}`]),
    ];
    return `${whole}${texts}${last.join(',')}}\n`;
  }

  try {
    for await (const event of events) {
      switch (event.type) {
        case 'start':
        case 'server-tool':
        case 'prompt-logprobs':
        case 'compacting':
        case 'prompt-progress':
          break;
        case 'warning':
          warnings.push(event.text);
          break;
        case 'text-delta':
        case 'reasoning-delta': {
          const thinking = event.type === 'reasoning-delta';
          if (facts.context) reply[thinking ? 'reasoning' : 'text'] += event.text;
          const tokens = spoken(event);
          if (event.text !== '') yield piece(thinking ? shape.thinking(event.text) : shape.text(event.text), tokens);
          break;
        }
        case 'tool-start':
          calls.set(event.index, { id: event.id, name: event.name, json: '' });
          break;
        case 'tool-delta': {
          const call = calls.get(event.index);
          if (call) call.json += event.json;
          break;
        }
        case 'tool-end': {
          // Whether anything was cut off is known at the end only.
          const line = callLine(event.index, true);
          if (line !== '') yield line;
          break;
        }
        case 'finish':
          yield await end(event);
          return;
        case 'error':
          yield errorLine(event.error);
          return;
        default:
          unreachable(event);
      }
    }
    // A generation that ended without a finish event was aborted.
    yield await end(abortedUnstarted);
  } catch (error) {
    yield errorLine(asAppError(error));
  }
}

/** The same events as one object, and what the engine could not do. */
export async function encodeWhole(events: AsyncIterable<GenerationEvent>, shape: Shape, facts: ReplyFacts) {
  const tokens: TokenLogprob[] = [];
  const generation = await fold(collectTokens(events, tokens));
  const cut = isCut(generation.reason);
  const made = generation.toolCalls.map((call, index) => encodeCall(index, call, cut));
  const calls = made.flatMap((call) => call ?? []);
  const left = generation.toolCalls.filter((_, index) => made[index] === undefined);
  const text = generation.text + (cut ? '' : left.map(({ json }) => json).join(''));
  const warnings = [...generation.warnings, ...(cut ? left.map(cutOffWarning) : [])];
  const { usage, timings = abortedUnstarted.timings } = generation;
  const context = facts.context && (await facts.context(generation));
  const now = facts.now();
  const body: object = {
    model: facts.model,
    created_at: timestamp(now),
    ...shape.whole(text, generation.reasoning, calls),
    done: true,
    done_reason: doneReasons[generation.reason],
    ...(context === undefined ? {} : { context }),
    ...metrics({ usage, timings }, now - facts.startedAt),
    ...(tokens.length === 0 ? {} : { logprobs: encodeLogprobs(tokens) }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
  return { body, engineNotices: generation };
}

/** Puts the figures of thinking and text into `tokens`, in the order of the stream. */
async function* collectTokens(events: AsyncIterable<GenerationEvent>, tokens: TokenLogprob[]) {
  const spoken = alignedLogprobs();
  for await (const event of events) {
    if (event.type === 'text-delta' || event.type === 'reasoning-delta') tokens.push(...(spoken(event) ?? []));
    yield event;
  }
}

export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

export function nanoseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1e6);
}

/** All time that was neither prompt nor reply counts as load time: the queue, loading, looking up the cache. */
function metrics({ usage, timings }: Pick<Finish, 'usage' | 'timings'>, elapsedMs: number): object {
  const busyMs = timings.promptMs + timings.generationMs;
  const totalMs = Math.max(elapsedMs, timings.initMs + busyMs);
  return {
    total_duration: nanoseconds(totalMs),
    load_duration: nanoseconds(totalMs - busyMs),
    prompt_eval_count: usage.promptTokens,
    prompt_eval_duration: nanoseconds(timings.promptMs),
    eval_count: usage.completionTokens,
    eval_duration: nanoseconds(timings.generationMs),
  };
}

/** Undefined if the arguments are not an object. An empty text is a call without arguments unless it may be `cut` off. */
function encodeCall(index: number, { id, name, json }: ToolCall, cut: boolean): object | undefined {
  const args = json.trim() === '' && !cut ? {} : tryParseJson(json);
  return isObject(args) ? { id, function: { index, name, arguments: args } } : undefined;
}

function cutOffWarning({ name }: ToolCall): string {
  return `A call of ${name} was cut off before its arguments were whole, so it is left out.`;
}

function isCut(reason: FinishReason): boolean {
  return reason === 'length' || reason === 'aborted';
}

function encodeLogprobs(tokens: readonly TokenLogprob[]): object[] {
  return tokens.map((token) => ({
    ...choice(token),
    ...(token.top.length > 0 ? { top_logprobs: token.top.map(choice) } : {}),
  }));
}

function choice({ text, logprob, bytes }: TokenChoice): object {
  return { token: text, logprob, bytes };
}
