import { asAppError } from '../../core/errors.ts';
import { type GenerationEvent, type TokenLogprob, unreachable } from '../../core/events.ts';
import type { ToolCall } from '../../core/fold.ts';
import { spokenTokens } from '../spoken-tokens.ts';
import {
  cutOffWarning,
  doneReasons,
  encodeCall,
  encodeLogprobs,
  type Finish,
  isCut,
  metrics,
  type ReplyFacts,
  timestamp,
  unsaidFinish,
} from './ending.ts';
import { errorLine } from './errors.ts';
import type { Shape } from './shape.ts';

/**
 * A reply as lines of JSON. Exactly one line says that it is done, or one tells the error; clients take a stream without
 * either for a broken one, and any line with an `error` in it for a failure. Calls come whole.
 */
export async function* encodeStream(
  events: AsyncIterable<GenerationEvent>,
  shape: Shape,
  facts: ReplyFacts,
): AsyncGenerator<string> {
  const head = `{"model":${JSON.stringify(facts.model)},"created_at":"`;
  const piece = (said: string, logprobs?: readonly TokenLogprob[]): string => {
    const figures = logprobs ? `,"logprobs":${JSON.stringify(encodeLogprobs(logprobs))}` : '';
    return `${head}${timestamp(facts.now())}",${said},"done":false${figures}}\n`;
  };
  const spoken = spokenTokens();
  const calls = new Map<number, ToolCall>();
  const warnings: string[] = [];
  const reply = { reasoning: '', text: '' };

  function closeCall(index: number, cut: boolean): string {
    const call = calls.get(index);
    const whole = call && shape.calls && encodeCall(index, call, cut);
    if (!whole || !shape.calls) return '';
    calls.delete(index);
    return piece(shape.calls(JSON.stringify([whole])));
  }

  /** Calls that are not whole: text where something else was written in their place, or cut off by the limit. */
  function leftCalls(cut: boolean): string {
    const left = [...calls.values()];
    calls.clear();
    if (cut && left.length > 0) warnings.push(...left.map(cutOffWarning));
    return cut ? '' : left.map(({ json }) => piece(shape.text(json))).join('');
  }

  async function lastLine(finish: Finish): Promise<string> {
    const context = facts.context && JSON.stringify(await facts.context(reply));
    const now = facts.now();
    const told = [
      `${head}${timestamp(now)}",${shape.text('')},"done":true,"done_reason":"${doneReasons[finish.reason]}"`,
      ...(context === undefined ? [] : [`"context":${context}`]),
      JSON.stringify(metrics(finish, now - facts.startedAt)).slice(1, -1),
      ...(warnings.length === 0 ? [] : [`"warnings":${JSON.stringify(warnings)}`]),
    ];
    return `${told.join(',')}}\n`;
  }

  async function end(finish: Finish): Promise<string> {
    const cut = isCut(finish.reason);
    const open = [...calls.keys()].map((index) => closeCall(index, cut)).join('');
    const left = leftCalls(cut);
    return open + left + (await lastLine(finish));
  }

  try {
    for await (const event of events) {
      switch (event.type) {
        case 'start':
        case 'prompt-logprobs':
          break;
        case 'warning':
          warnings.push(event.text);
          break;
        case 'text-delta': {
          if (facts.context) reply.text += event.text;
          const tokens = spoken(event);
          if (event.text !== '') yield piece(shape.text(event.text), tokens);
          break;
        }
        case 'reasoning-delta': {
          if (facts.context) reply.reasoning += event.text;
          const tokens = spoken(event);
          if (event.text !== '') yield piece(shape.thinking(event.text), tokens);
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
          const line = closeCall(event.index, true);
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
    yield await end(unsaidFinish);
  } catch (error) {
    yield errorLine(asAppError(error));
  }
}
