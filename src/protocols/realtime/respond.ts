import { encodeG711, g711Rate } from '../../audio/g711.ts';
import { Resampler } from '../../audio/resample.ts';
import type { Message } from '../../chat/messages.ts';
import type { ChatRequest } from '../../chat/request.ts';
import { Channel } from '../../core/channel.ts';
import { type AppError, asAppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { RequestContext } from '../../core/request-context.ts';
import type { SpeechService } from '../../core/speech.ts';
import { Latch } from '../../core/synchronization.ts';
import type { SocketWork } from '../../http/web-socket.ts';
import { limitTokens, readControls } from '../controls/decode.ts';
import { type DialectModel, dialectControls, reasoningControl } from '../dialect.ts';
import { chooseVoice, speechOf } from '../spoken-text.ts';
import { pcmRate } from './audio-buffer.ts';
import { messagesOf, withoutOldest } from './conversation.ts';
import type { ResponseEnd } from './encode.ts';
import type { AudioFormat, ResponseSettings } from './fields.ts';
import { isSpeakable, SentenceStream, type SplitSentences } from './sentence-stream.ts';
import type { ResponseJob } from './session.ts';

interface RespondDeps {
  readonly context: DialectModel;
  readonly work: SocketWork;
  readonly requestContext: RequestContext;
  readonly splitSentences: SplitSentences;
  /** Resolves when the client has read enough: audio is made no faster than it is read. */
  readonly room: () => Promise<void>;
}

/** Writes one response: the model's text as it comes, and its speech sentence by sentence meanwhile. */
export async function respond(job: ResponseJob, deps: RespondDeps): Promise<void> {
  const { settings, writer } = job;
  const { work, context } = deps;
  const { watch } = work;
  const speech = settings.modality === 'audio' ? speechOf(context) : undefined;
  let messages: readonly Message[] | undefined = messagesOf(settings.instructions, job.items);
  watch?.received?.(Buffer.from(JSON.stringify({ messages })));
  watch?.replied?.(200, {});
  let end: ResponseEnd | undefined;
  try {
    while (messages) {
      const request = chatRequest(settings, messages, context);
      watch?.decoded?.(request);
      const attempt: Attempt = await answer(request, job, deps, speech);
      if (attempt.type !== 'too-long') {
        end = attempt;
        break;
      }
      messages = withoutOldest(messages);
      end = { type: 'failed', error: attempt.error };
    }
  } catch (error) {
    end = { type: 'failed', error: asAppError(error) };
  }
  // The end of a cancelled response is not a failure.
  const failed = end?.type === 'failed' && !job.signal.aborted;
  if (end?.type === 'failed' && failed) watch?.errored?.(end.error);
  const gone = job.signal.aborted && !writer.finished;
  writer.finish(end ?? { type: 'completed' });
  watch?.ended?.(gone ? 'client-gone' : failed ? 'failed' : 'sent');
}

type Attempt = ResponseEnd | { readonly type: 'too-long'; readonly error: AppError };

async function answer(
  request: ChatRequest,
  { settings, writer, signal }: ResponseJob,
  { context, requestContext, splitSentences, room }: RespondDeps,
  speech: SpeechService | undefined,
): Promise<Attempt> {
  const speaker = speech ? new Speaker({ speech, requestContext, settings, room, writer }) : undefined;
  const sentences = new SentenceStream(splitSentences);
  const speak = (complete: readonly string[]): void => {
    for (const sentence of complete) speaker?.push(sentence);
  };
  let end: Attempt | undefined;
  let begun = false;
  const read = async (event: GenerationEvent): Promise<void> => {
    switch (event.type) {
      case 'text-delta':
        begun = true;
        if (speaker) speak(sentences.push(event.text));
        else writer.text(event.text);
        break;
      case 'tool-start':
        begun = true;
        speak(sentences.end());
        await speaker?.rest();
        writer.callStart(event.id, event.name);
        break;
      case 'tool-delta':
        writer.callDelta(event.json);
        break;
      case 'tool-end':
        writer.callEnd();
        break;
      case 'finish':
        writer.usage(event.usage);
        end = endOf(event);
        break;
      case 'error': {
        const tooLong = event.error.code === 'context-overflow' && !begun;
        end = { type: tooLong ? 'too-long' : 'failed', error: event.error };
        break;
      }
    }
  };
  try {
    for await (const event of context.chat.reply(request, requestContext)) {
      if (signal.aborted) break;
      await read(event);
    }
    speak(sentences.end());
    await speaker?.end();
  } finally {
    speaker?.stop();
  }
  return end ?? { type: 'completed' };
}

function endOf({ reason }: Extract<GenerationEvent, { type: 'finish' }>): ResponseEnd {
  if (reason === 'length') return { type: 'incomplete', reason: 'max_output_tokens' };
  return reason === 'aborted' ? { type: 'cancelled', reason: 'client_cancelled' } : { type: 'completed' };
}

function chatRequest(settings: ResponseSettings, messages: readonly Message[], context: DialectModel): ChatRequest {
  const { temperature, maxTokens } = settings;
  const sent = context.applyDefaults(temperature === undefined ? {} : { temperature });
  const native = dialectControls(readControls(sent), context.controlLimits());
  // A voice that is silent while the model thinks seems to be broken.
  const { effort, budget } = reasoningControl(settings.effort ?? 'none', undefined);
  return {
    conversation: { messages, media: [], tools: settings.tools },
    continueAssistantTurn: false,
    toolChoice: settings.toolChoice,
    parallelToolCalls: settings.parallelToolCalls,
    output: { type: 'text' },
    reasoning: { effort, separate: true },
    templateVariables: {},
    memory: '',
    controls: {
      ...native,
      overflow: 'refuse',
      reasoning: budget,
      ...(maxTokens === 'inf' ? {} : { maxTokens: limitTokens(maxTokens, context.controlLimits()) }),
    },
  };
}

interface SpeakerDeps extends Pick<RespondDeps, 'requestContext' | 'room'>, Pick<ResponseJob, 'settings' | 'writer'> {
  readonly speech: SpeechService;
}

/** Speaks the sentences of a response one after the other, while the next ones are written. */
class Speaker {
  readonly #sentences = new Channel<string>();
  readonly #done: Promise<void>;
  #error: unknown;
  #waiting = 0;
  #over = false;
  readonly #rested = new Latch();

  constructor(private readonly deps: SpeakerDeps) {
    this.#done = this.#run()
      .catch((error: unknown) => {
        this.#error = error;
      })
      .finally(() => {
        // Also when the response was cancelled, with sentences left.
        this.#over = true;
        this.#rested.release();
      });
  }

  push(sentence: string): void {
    this.#waiting += 1;
    this.#sentences.push(sentence);
  }

  /** Resolves when all sentences so far are spoken. */
  async rest(): Promise<void> {
    if (this.#waiting > 0 && !this.#over) await this.#rested.wait();
    if (this.#error !== undefined) throw this.#error;
  }

  async end(): Promise<void> {
    this.#sentences.end();
    await this.#done;
    if (this.#error !== undefined) throw this.#error;
  }

  stop(): void {
    this.#sentences.end();
  }

  async #run(): Promise<void> {
    const { speech, settings, writer } = this.deps;
    const { voice } = chooseVoice(settings.voice, await speech.voices());
    for await (const sentence of this.#sentences) {
      if (writer.finished) return;
      writer.sentence(sentence);
      if (isSpeakable(sentence)) await this.#speak(sentence.trim(), voice);
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#rested.release();
    }
  }

  async #speak(text: string, voice: string): Promise<void> {
    const { speech, settings, writer, requestContext, room } = this.deps;
    const style = { language: '', instruction: '', seed: -1, format: 'pcm', streamed: true } as const;
    const encoder = outputEncoder(settings.outputFormat);
    for await (const event of speech.speak({ text, voice, speed: settings.speed, ...style }, requestContext)) {
      if (writer.finished) return;
      if (event.type === 'audio') {
        const bytes = encoder.push(event.bytes);
        writer.audio(bytes, event.bytes.length / (pcmRate / 500));
        await room();
      }
    }
    const rest = encoder.end();
    if (rest.length > 0) writer.audio(rest, 0);
  }
}

/** From PCM at 24 kHz to the format of the client. */
function outputEncoder(format: AudioFormat) {
  if (format === 'pcm16') return { push: (pcm: Uint8Array) => pcm, end: () => new Uint8Array(0) };
  const resampler = new Resampler(pcmRate, g711Rate);
  const encode = (samples: Float32Array): Uint8Array => {
    const clamped = Int16Array.from(samples, (sample) => Math.max(-1, Math.min(1, sample)) * 32_767);
    return encodeG711(format === 'g711_ulaw' ? 'ulaw' : 'alaw', clamped);
  };
  return {
    push: (pcm: Uint8Array) => {
      const view = new DataView(pcm.buffer, pcm.byteOffset, pcm.byteLength);
      const sampleAt = (_: unknown, index: number) => view.getInt16(2 * index, true) / 32_768;
      return encode(resampler.push(Float32Array.from({ length: pcm.length >> 1 }, sampleAt)));
    },
    end: () => encode(resampler.end()),
  };
}
