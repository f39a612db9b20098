import { bytesIn, type Fields, fieldsOf, jsonIn } from '../api/loose.ts';

/** What an event of the server means for the page. */
export type Step =
  | { readonly type: 'ready' }
  | { readonly type: 'speech-started' | 'speech-stopped' }
  /** What the person said; empty for noise. */
  | { readonly type: 'heard'; readonly text: string }
  | { readonly type: 'answer-begun' }
  | { readonly type: 'said'; readonly itemId: string; readonly text: string }
  | { readonly type: 'audio'; readonly itemId: string; readonly base64: string }
  /** The text of an item after it was truncated. */
  | { readonly type: 'corrected'; readonly itemId: string; readonly text: string }
  | { readonly type: 'answer-over'; readonly failed?: string }
  | { readonly type: 'failed'; readonly text: string };

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Undefined for events that the page does not need. */
export function readStep(message: string): Step | undefined {
  const event = fieldsOf(jsonIn(message));
  const itemId = textOf(event.item_id);
  switch (event.type) {
    case 'session.updated':
      return { type: 'ready' };
    case 'input_audio_buffer.speech_started':
      return { type: 'speech-started' };
    case 'input_audio_buffer.speech_stopped':
      return { type: 'speech-stopped' };
    case 'conversation.item.input_audio_transcription.completed':
      return { type: 'heard', text: textOf(event.transcript).trim() };
    case 'conversation.item.input_audio_transcription.failed':
      return { type: 'failed', text: textOf(fieldsOf(event.error).message) };
    case 'response.created':
      return { type: 'answer-begun' };
    case 'response.output_audio_transcript.delta':
      return { type: 'said', itemId, text: textOf(event.delta) };
    case 'response.output_audio.delta':
      return { type: 'audio', itemId, base64: textOf(event.delta) };
    case 'conversation.item.retrieved':
      return corrected(fieldsOf(event.item));
    case 'response.done':
      return answerOver(fieldsOf(event.response));
    case 'error':
      return failed(fieldsOf(event.error));
    default:
      return undefined;
  }
}

function corrected({ id, content }: Fields): Step {
  const part = fieldsOf(Array.isArray(content) ? content[0] : undefined);
  return { type: 'corrected', itemId: textOf(id), text: textOf(part.transcript).trim() };
}

function answerOver({ status, status_details: details }: Fields): Step {
  if (status !== 'failed') return { type: 'answer-over' };
  return { type: 'answer-over', failed: textOf(fieldsOf(fieldsOf(details).error).message) };
}

/** An answer that was over before it could be stopped is no failure. */
function failed({ code, message }: Fields): Step | undefined {
  return code === 'response_cancel_not_active' ? undefined : { type: 'failed', text: textOf(message) };
}

export type TalkState = 'connecting' | 'listening' | 'hearing' | 'thinking' | 'speaking';

/** The state after a step. `playing`: something is heard at this moment. */
export function stateAfter(state: TalkState, step: Step, playing: boolean): TalkState {
  switch (step.type) {
    case 'ready':
      return state === 'connecting' ? 'listening' : state;
    case 'speech-started':
      return 'hearing';
    case 'speech-stopped':
    case 'answer-begun':
      return 'thinking';
    case 'heard':
      return step.text === '' && state === 'thinking' ? 'listening' : state;
    case 'audio':
      return state === 'hearing' ? state : 'speaking';
    case 'answer-over':
      return state === 'hearing' ? state : playing ? 'speaking' : 'listening';
    case 'failed':
      return state === 'thinking' ? 'listening' : state;
    default:
      return state;
  }
}

/** Speech of the server: 16 bits, little endian. */
export function samplesOf(base64: string): Int16Array<ArrayBuffer> {
  const bytes = bytesIn(base64);
  return new Int16Array(bytes.buffer, 0, bytes.length >> 1);
}

export function base64Of(samples: Int16Array): string {
  const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  return btoa(String.fromCharCode(...bytes));
}

/** A key of any characters as a subprotocol, which takes only some. */
export function keyProtocol(key: string): string {
  const bytes = String.fromCharCode(...new TextEncoder().encode(key));
  return `parley-key.${btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}
