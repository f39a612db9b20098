import { type FinishReason, type GenerationEvent, unreachable } from '../../../core/events.ts';
import { dataFrame } from '../../../http/sse.ts';
import { tokenPieces } from '../../spoken-tokens.ts';
import { type ChunkShape, chunkNotes } from '../chunk-notes.ts';
import { encodeLogprobs } from '../logprobs.ts';
import { stopNote } from '../stop-reason.ts';
import type { ChoiceWriter } from '../stream.ts';

/** Text that somebody stopped is handed out as if it had reached its limit: it is not whole, and there is no other word. */
export function finishReason(reason: FinishReason, legacyCalls: boolean): string {
  switch (reason) {
    case 'stop':
      return 'stop';
    case 'length':
    case 'aborted':
      return 'length';
    case 'tool-calls':
      return legacyCalls ? 'function_call' : 'tool_calls';
  }
}

export interface ChoiceShape extends ChunkShape {
  readonly legacyCalls: boolean;
}

type WrittenEvent = Parameters<ChoiceWriter>[0];

/**
 * The chunks of one reply. Identity (role, a call's id, type and name) is told once and never repeated: the official
 * client takes a repetition for another call.
 */
export function chatChoice(shape: ChoiceShape): ChoiceWriter {
  const { head, index, legacyCalls } = shape;
  const open = `${head}"choices":[{"index":${index},"delta":`;
  const close = ',"logprobs":null,"finish_reason":null}]';
  const notes = chunkNotes(shape);
  const pieces = tokenPieces();
  let begun = false;

  const chunk = (delta: string, event: GenerationEvent): string =>
    `data: ${open}${delta}${close}${notes.middle(event)}}\n\n`;
  /** The old form has no place for a second call. */
  const isUntellable = (call: number): boolean => legacyCalls && call > 0;
  const begin = (): string => {
    if (begun) return '';
    begun = true;
    return dataFrame(`${open}{"role":"assistant","content":""}${close}}`);
  };

  function write(event: WrittenEvent): string {
    switch (event.type) {
      case 'start':
      case 'warning':
        notes.take(event);
        return '';
      case 'reasoning-delta':
        return event.text === '' ? '' : chunk(`{"reasoning_content":${JSON.stringify(event.text)}}`, event);
      case 'text-delta':
        return text(event);
      case 'tool-start':
        return isUntellable(event.index) ? '' : chunk(callStart(event, legacyCalls), event);
      case 'tool-delta':
        return event.json === '' || isUntellable(event.index) ? '' : chunk(callPiece(event, legacyCalls), event);
      case 'tool-end':
      // Told only with a whole reply.
      case 'prompt-logprobs':
        return '';
      case 'finish':
        return finish(event);
      default:
        return unreachable(event);
    }
  }

  function text(event: GenerationEvent & { type: 'text-delta' }): string {
    if (event.text === '') return '';
    const delta = `{"content":${JSON.stringify(event.text)}}`;
    if (!event.logprobs) return chunk(delta, event);
    const logprobs = JSON.stringify(encodeLogprobs(event.logprobs));
    return `data: ${open}${delta},"logprobs":${logprobs},"finish_reason":null}]${notes.middle(event)}}\n\n`;
  }

  function finish(event: GenerationEvent & { type: 'finish' }): string {
    const reason = finishReason(event.reason, legacyCalls);
    return dataFrame(`${open}{},"logprobs":null,"finish_reason":"${reason}"${stopNote(event)}}]${notes.last(event)}}`);
  }

  return (event) => {
    const [only, ...more] = pieces(event);
    if (!only) return begin();
    return begin() + write(only) + more.map(write).join('');
  };
}

function callStart({ index, id, name }: GenerationEvent & { type: 'tool-start' }, legacy: boolean): string {
  const called = `{"name":${JSON.stringify(name)},"arguments":""}`;
  if (legacy) return `{"function_call":${called}}`;
  return `{"tool_calls":[{"index":${index},"id":${JSON.stringify(id)},"type":"function","function":${called}}]}`;
}

function callPiece({ index, json }: GenerationEvent & { type: 'tool-delta' }, legacy: boolean): string {
  const called = `{"arguments":${JSON.stringify(json)}}`;
  return legacy ? `{"function_call":${called}}` : `{"tool_calls":[{"index":${index},"function":${called}}]}`;
}
