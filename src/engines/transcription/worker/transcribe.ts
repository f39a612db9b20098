import { openRecording } from '../../../audio/decode.ts';
import { concat } from '../../../audio/resample.ts';
import { AppError } from '../../../core/errors.ts';
import type { Segment, TranscriptionEvent, TranscriptionFacts } from '../../../core/transcription.ts';
import type { TaskTools } from '../../host/task-worker.ts';
import { type Chunk, ChunkCutter, type Span } from '../cut.ts';
import type { TranscriptionTask } from '../host.ts';
import { delayed, type Recogniser, soundRate, type Transcript } from '../recogniser.ts';
import { timedSentences } from '../timing.ts';
import type { Activity, SpeechTools } from './voice-activity.ts';

/** Documented in the table of fields. */
const maxSeconds = 3 * 3600;
/** Some 40 MB of samples. */
const defaultBufferSeconds = 10 * 60;

interface TranscribeDeps {
  readonly recogniser: Recogniser;
  readonly voice: { listen(sound: AsyncIterable<Float32Array>, tools: SpeechTools): AsyncIterable<Activity> };
  /** The program that decodes AAC. */
  readonly ffmpeg?: string;
  /** Longer recordings are decoded twice and never in memory as a whole. */
  readonly bufferSeconds?: number;
}

/** Cuts an audio file at pauses and recognises it by chunks. Of a long one, only the open chunk is in memory. */
export async function transcribe(
  bytes: Uint8Array,
  requested: TranscriptionTask,
  { emit, signal, watch }: TaskTools<TranscriptionEvent>,
  { recogniser, voice, ffmpeg, bufferSeconds = defaultBufferSeconds }: TranscribeDeps,
): Promise<void> {
  refuseUnlessAble(requested, recogniser.facts);
  // Translating English to English is transcription.
  const untranslated = requested.translate && !recogniser.facts.translates;
  const task = untranslated ? { ...requested, translate: false } : requested;
  const recording = await openRecording(bytes, { rate: soundRate, maxSeconds, bufferSeconds, signal, ffmpeg });
  const { seconds } = recording;
  emit({ type: 'start', seconds });
  const recent = new RecentSound();
  const cutter = new ChunkCutter({
    maxLength: Math.floor(recogniser.maxChunkSeconds * soundRate),
    maxPause: 2 * soundRate,
    margin: 0.4 * soundRate,
    quietest: (from, to) => from + quietestOffset(recent.slice(from, to), 0, to - from, soundRate / 50),
  });
  let language = task.language;

  async function recognise({ start, end }: Span): Promise<Transcript> {
    signal.throwIfAborted();
    const piece = recent.slice(start, end);
    const timeoutMs = recogniser.timeoutMs(piece.length / soundRate);
    const transcript = await watch.aside(timeoutMs, () => recogniser.recognise(piece, task, signal));
    signal.throwIfAborted();
    return transcript;
  }

  async function recogniseChunks(chunks: readonly Chunk[]): Promise<void> {
    for (const chunk of chunks) {
      let { start } = chunk;
      let transcript = await recognise(chunk);
      if (transcript.text.trim() === '' && recogniser.missesShortSpeech) {
        start = chunk.spans[0]?.start ?? start;
        transcript = await recognise({ start, end: chunk.spans.at(-1)?.end ?? chunk.end });
      }
      language ??= transcript.language;
      for (const segment of segmentsOf(transcript, { ...chunk, start }, task)) emit({ type: 'segment', segment });
      emit({ type: 'progress', fraction: Math.min(1, chunk.end / (seconds * soundRate)) });
    }
  }

  for await (const { spans, settled } of voice.listen(recent.noting(recording.samples()), { signal, watch })) {
    for (const { start, end } of spans) {
      // The last VAD window may exceed the end.
      await recogniseChunks(cutter.add({ start: Math.min(start, recent.end), end: Math.min(end, recent.end) }));
    }
    await recogniseChunks(cutter.settle(settled));
    recent.forget(cutter.neededFrom(settled));
  }
  await recogniseChunks(cutter.end(recent.end));
  // Speech in another language gives nonsense.
  const note = `${recogniser.facts.name} hears English only: the recording was taken for English, and nothing was translated.`;
  const notes = [...recogniser.notes(task), ...(untranslated ? [note] : [])];
  emit({ type: 'finish', seconds, language: language ?? recogniser.facts.languages[0] ?? 'en', notes });
}

/** Buffer of recent audio, addressed by sample. */
class RecentSound {
  #pieces: Float32Array[] = [];
  #start = 0;
  end = 0;

  /** Passes the chunks through and buffers them. */
  async *noting(pieces: AsyncIterable<Float32Array>): AsyncGenerator<Float32Array> {
    for await (const piece of pieces) {
      this.#pieces.push(piece);
      this.end += piece.length;
      yield piece;
    }
  }

  slice(from: number, to: number): Float32Array {
    const parts: Float32Array[] = [];
    let offset = this.#start;
    for (const piece of this.#pieces) {
      if (offset < to && offset + piece.length > from)
        parts.push(piece.subarray(Math.max(0, from - offset), to - offset));
      offset += piece.length;
    }
    return concat(...parts);
  }

  /** Drops whole chunks before this sample. */
  forget(before: number): void {
    while (this.#pieces[0] && this.#start + this.#pieces[0].length <= before) {
      this.#start += this.#pieces[0].length;
      this.#pieces.shift();
    }
  }
}

/** Checked before decoding. */
function refuseUnlessAble({ language, translate }: TranscriptionTask, facts: TranscriptionFacts): void {
  const isEnglish = facts.languages.join() === 'en';
  const instead = `${facts.name} ${isEnglish ? 'hears English only' : 'cannot do that'}; run parley pack add ears, or start the server with --whispermodel FILE and a model that can`;
  if (translate && !facts.translates && !isEnglish)
    throw new AppError('unsupported', { feature: 'Translation', instead });
  if (language === undefined || facts.languages.includes(language)) return;
  const details = { feature: `The language ${JSON.stringify(language)}`, instead, field: 'language' };
  throw new AppError('unsupported', details);
}

function segmentsOf({ text, segments }: Transcript, chunk: Chunk, { words }: TranscriptionTask): readonly Segment[] {
  const inSeconds = chunk.spans.map(({ start, end }) => ({ start: start / soundRate, end: end / soundRate }));
  const offset = chunk.start / soundRate;
  const timed = segments?.map((segment) => delayed(segment, offset)) ?? timedSentences(text, inSeconds);
  return timed.map(({ words: timedWords, ...segment }) =>
    words && timedWords ? { ...segment, words: timedWords } : segment,
  );
}

/** The middle of the frame with the least energy. */
export function quietestOffset(samples: Float32Array, from: number, to: number, frame: number): number {
  let best = { offset: to, energy: Number.POSITIVE_INFINITY };
  for (let start = from; start + frame <= to; start += frame) {
    let energy = 0;
    for (let index = start; index < start + frame; index++) energy += (samples[index] ?? 0) ** 2;
    // Prefers the last of equally quiet positions, for longer chunks.
    if (energy <= best.energy) best = { offset: start + Math.floor(frame / 2), energy };
  }
  return best.offset;
}
