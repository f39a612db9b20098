import { type FinishReason, type GenerationEvent, type PromptToken, unreachable } from '../../../core/events.ts';
import { dataFrame } from '../../../http/sse.ts';
import { spokenTokens } from '../../spoken-tokens.ts';
import { type ChunkShape, chunkNotes } from '../chunk-notes.ts';
import { stopNote } from '../stop-reason.ts';
import type { ChoiceWriter } from '../stream.ts';
import { characters, echoedTokens, encodeLegacyLogprobs } from './logprobs.ts';

/** Text that somebody stopped is handed out as if it had reached its limit: it is not whole, and there is no other word. */
export const finishReasons: Record<FinishReason, string> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'stop',
  aborted: 'length',
};

export interface ChoiceShape extends ChunkShape {
  /** The prompt, where the client wants it in front of the reply. */
  readonly echo: string;
  /** How many alternatives stand beside each token; undefined tells no figures. */
  readonly logprobs: number | undefined;
}

export function completionChoice(shape: ChoiceShape): ChoiceWriter {
  const { head, index, echo, logprobs: count } = shape;
  const open = `${head}"choices":[{"index":${index},"text":`;
  const notes = chunkNotes(shape);
  const spoken = spokenTokens();
  let offset = characters(echo);
  const prompt: PromptToken[] = [];
  let begun = echo === '';

  function text(event: GenerationEvent & { type: 'text-delta' | 'reasoning-delta' }): string {
    const tokens = spoken(event);
    if (event.text === '') return '';
    const logprobs = tokens ? JSON.stringify(encodeLegacyLogprobs(tokens, offset)) : 'null';
    offset += characters(event.text);
    const said = `${JSON.stringify(event.text)},"logprobs":${logprobs}`;
    return `data: ${open}${said},"finish_reason":null}]${notes.middle(event)}}\n\n`;
  }

  function finish(event: GenerationEvent & { type: 'finish' }): string {
    const reason = finishReasons[event.reason];
    return dataFrame(`${open}"","logprobs":null,"finish_reason":"${reason}"${stopNote(event)}}]${notes.last(event)}}`);
  }

  function write(event: Parameters<ChoiceWriter>[0]): string {
    switch (event.type) {
      case 'start':
      case 'warning':
        notes.take(event);
        return '';
      case 'text-delta':
      case 'reasoning-delta':
        return text(event);
      case 'prompt-logprobs':
        prompt.push(...event.tokens);
        return '';
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

  /** The prompt goes in front of the reply, and with its figures it has to wait for the last of them. */
  function echoed(type: GenerationEvent['type']): string {
    if (begun || (count !== undefined && beforeReply.has(type))) return '';
    begun = true;
    const figures = count === undefined ? 'null' : JSON.stringify(scoredEcho(prompt, echo, count));
    return dataFrame(`${open}${JSON.stringify(echo)},"logprobs":${figures},"finish_reason":null}]}`);
  }

  return (event) => echoed(event.type) + write(event);
}

const beforeReply: ReadonlySet<GenerationEvent['type']> = new Set(['start', 'warning', 'prompt-logprobs']);

function scoredEcho(prompt: readonly PromptToken[], echo: string, count: number): object {
  return encodeLegacyLogprobs([], 0, echoedTokens(prompt, echo, count));
}
