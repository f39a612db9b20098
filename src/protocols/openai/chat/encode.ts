import { type FinishReason, type GenerationEvent, type TokenLogprob, unreachable } from '../../../core/events.ts';
import type { Generation } from '../../../core/fold.ts';
import { dataFrame } from '../../../http/sse.ts';
import { urlCitation } from '../../hosted-tools.ts';
import { tokenPieces } from '../../logprob-alignment.ts';
import {
  type ChunkShape,
  chunkNotes,
  encodeFigures,
  encodeFinish,
  encodePromptLogprobs,
  encodeTokens,
  finishReasons,
  warningsOf,
} from '../encode.ts';
import type { ChoiceWriter } from '../reply.ts';
import type { DecodedChat } from './decode.ts';

function finishReason(reason: FinishReason, legacyCalls: boolean): string {
  return reason === 'tool-calls' && legacyCalls ? 'function_call' : finishReasons[reason];
}

function encodeLogprobs(tokens: readonly TokenLogprob[]): object {
  return { content: encodeTokens(tokens), refusal: null };
}

/** The chunks of one reply. The role, and the identity of a call, are sent once: a repetition would mean another call. */
export function chatChoice(shape: ChunkShape, legacyCalls: boolean): ChoiceWriter {
  const open = `${shape.head}"choices":[{"index":${shape.index},"delta":`;
  const close = ',"logprobs":null,"finish_reason":null}]';
  const notes = chunkNotes(shape);
  const pieces = tokenPieces();
  let begun = false;
  let content = '';

  const chunk = (delta: string, event: GenerationEvent): string =>
    `data: ${open}${delta}${close}${notes.middle(event)}}\n\n`;
  const begin = (): string => {
    if (begun) return '';
    begun = true;
    return dataFrame(`${open}{"role":"assistant","content":""}${close}}`);
  };

  function write(event: Parameters<ChoiceWriter>[0]): string {
    switch (event.type) {
      case 'start':
      case 'warning':
        notes.take(event);
        return '';
      case 'reasoning-delta':
        return event.text === '' ? '' : chunk(`{"reasoning_content":${JSON.stringify(event.text)}}`, event);
      case 'text-delta':
        return text(event);
      case 'tool-start': {
        const { id, name } = event;
        const identity = `"id":${JSON.stringify(id)},"type":"function",`;
        return call(event, identity, `{"name":${JSON.stringify(name)},"arguments":""}`);
      }
      case 'tool-delta':
        return event.json === '' ? '' : call(event, '', `{"arguments":${JSON.stringify(event.json)}}`);
      case 'server-tool': {
        const { step } = event;
        if (step.type !== 'citation') return '';
        const end = content.length - step.back;
        const cited = { source: step.source, start: end - step.length, end };
        return chunk(`{"annotations":${JSON.stringify([annotation(content, cited)])}}`, event);
      }
      case 'tool-end':
      // Only in whole replies.
      case 'prompt-logprobs':
      case 'compacting':
      case 'prompt-progress':
        return '';
      case 'finish': {
        const finish = encodeFinish(finishReason(event.reason, legacyCalls), event);
        return dataFrame(`${open}{},"logprobs":null,${JSON.stringify(finish).slice(1)}]${notes.last(event)}}`);
      }
      default:
        return unreachable(event);
    }
  }

  function text(event: GenerationEvent & { type: 'text-delta' }): string {
    if (event.text === '') return '';
    content += event.text;
    const delta = `{"content":${JSON.stringify(event.text)}}`;
    if (!event.logprobs) return chunk(delta, event);
    const logprobs = JSON.stringify(encodeLogprobs(event.logprobs));
    return `data: ${open}${delta},"logprobs":${logprobs},"finish_reason":null}]${notes.middle(event)}}\n\n`;
  }

  /** The old form has no place for a second call. */
  function call(event: GenerationEvent & { type: 'tool-start' | 'tool-delta' }, identity: string, called: string) {
    const { index } = event;
    if (!legacyCalls) return chunk(`{"tool_calls":[{"index":${index},${identity}"function":${called}}]}`, event);
    return index > 0 ? '' : chunk(`{"function_call":${called}}`, event);
  }

  return (event) => {
    const note = notes.before(event);
    const before = begin() + (note === '' ? '' : `data: ${open}{}${close}${note}}\n\n`);
    const [only, ...more] = pieces(event);
    if (!only) return before;
    return before + write(only) + more.map(write).join('');
  };
}

export function encodeChat(generations: readonly Generation[], { legacyCalls, request }: DecodedChat): object {
  const { logprobs, promptLogprobs } = request.controls;
  return {
    choices: generations.map((generation, index) => ({
      index,
      message: encodeMessage(generation, legacyCalls),
      logprobs: logprobs === undefined ? null : encodeLogprobs(generation.logprobs),
      ...encodeFinish(finishReason(generation.reason, legacyCalls), generation),
    })),
    ...encodeFigures(generations, generations.length),
    // All replies have the same prompt.
    ...encodePromptLogprobs(generations[0]?.promptLogprobs, promptLogprobs),
    ...warningsOf(generations),
  };
}

function annotation(text: string, cited: Generation['citations'][number]): object {
  return { type: 'url_citation', url_citation: urlCitation(text, cited) };
}

/** Absent values have no key, as the key alone means something to some clients; `content` is always there. */
function encodeMessage({ text, reasoning, toolCalls, citations }: Generation, legacyCalls: boolean): object {
  const called = toolCalls.map(({ name, json }) => ({ name, arguments: json }));
  const calls = toolCalls.map(({ id }, index) => ({ id, type: 'function', function: called[index] }));
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: null,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(citations.length > 0 && { annotations: citations.map((cited) => annotation(text, cited)) }),
    ...(calls.length > 0 && (legacyCalls ? { function_call: called[0] } : { tool_calls: calls })),
  };
}
