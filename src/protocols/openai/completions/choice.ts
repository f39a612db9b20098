import { type FinishReason, type GenerationEvent, unreachable } from '../../../core/events.ts';
import { dataFrame } from '../../../http/sse.ts';
import type { ChoiceWriter } from '../stream.ts';
import { encodeTimings, runningTimings } from '../usage.ts';
import { characters, encodeLegacyLogprobs } from './logprobs.ts';

/** Text that somebody stopped is handed out as if it had reached its limit: it is not whole, and there is no other word. */
export const finishReasons: Record<FinishReason, string> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'stop',
  aborted: 'length',
};

export interface ChoiceShape {
  readonly head: string;
  readonly index: number;
  /** The prompt, where the client wants it in front of the reply. */
  readonly echo: string;
  readonly timingsPerToken: boolean;
  /** The last chunk is that of the usage, so that the figures of the end belong there. */
  readonly includeUsage: boolean;
  readonly now: () => number;
}

export function completionChoice(shape: ChoiceShape): ChoiceWriter {
  const { head, index, echo } = shape;
  const open = `${head}"choices":[{"index":${index},"text":`;
  const figures = shape.timingsPerToken ? runningTimings(shape.now) : undefined;
  const warnings: string[] = [];
  let offset = characters(echo);
  let begun = false;

  function text(event: GenerationEvent & { type: 'text-delta' | 'reasoning-delta' }): string {
    if (event.text === '') return '';
    const logprobs = event.logprobs ? JSON.stringify(encodeLegacyLogprobs(event.logprobs, offset)) : 'null';
    offset += characters(event.text);
    const timings = figures ? `,"timings":${JSON.stringify(figures(event))}` : '';
    return `data: ${open}${JSON.stringify(event.text)},"logprobs":${logprobs},"finish_reason":null}]${timings}}\n\n`;
  }

  function finish(event: GenerationEvent & { type: 'finish' }): string {
    const timings = shape.includeUsage ? '' : `,"timings":${JSON.stringify(encodeTimings([event], 1))}`;
    const told = warnings.length > 0 ? `,"warnings":${JSON.stringify(warnings)}` : '';
    const reason = finishReasons[event.reason];
    return dataFrame(`${open}"","logprobs":null,"finish_reason":"${reason}"}]${timings}${told}}`);
  }

  function write(event: Parameters<ChoiceWriter>[0]): string {
    switch (event.type) {
      case 'start':
        figures?.(event);
        return '';
      case 'warning':
        warnings.push(event.text);
        return '';
      case 'text-delta':
      case 'reasoning-delta':
        return text(event);
      // Tools are never offered to the model here, so it has none to call.
      case 'tool-start':
      case 'tool-delta':
      case 'tool-end':
        return '';
      case 'finish':
        return finish(event);
      default:
        return unreachable(event);
    }
  }

  return (event) => {
    const first = begun || echo === '' ? '' : dataFrame(echoChunk(open, echo));
    begun = true;
    return first + write(event);
  };
}

function echoChunk(open: string, echo: string): string {
  return `${open}${JSON.stringify(echo)},"logprobs":null,"finish_reason":null}]}`;
}
