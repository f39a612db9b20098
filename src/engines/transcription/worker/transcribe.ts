import { decodedSound } from '../../../audio/decode.ts';
import { monoSound } from '../../../audio/mono.ts';
import { AppError } from '../../../core/errors.ts';
import type { Segment, TranscriptionEvent, TranscriptionFacts } from '../../../core/transcription.ts';
import type { TaskTools } from '../../host/task-worker.ts';
import { type Chunk, ChunkCutter, type Span } from '../cut.ts';
import type { TranscriptionTask } from '../messages.ts';
import { type Heard, type Recogniser, soundRate } from '../recognisers/recogniser.ts';
import { timedSentences } from '../timing.ts';
import { quietestPlace } from './quietest-place.ts';
import type { SpeechTools } from './voice-activity.ts';

/** As samples of 16 kHz this is some 700 MB. */
const mostSeconds = 3 * 3600;

export interface TranscribeParts {
  readonly recogniser: Recogniser;
  readonly voice: { spans(samples: Float32Array, tools: SpeechTools): AsyncIterable<Span> };
}

/** From the bytes of a file to segments of text: decoded, cut where nobody speaks, recognised piece by piece. */
export async function transcribe(
  recording: Uint8Array,
  asked: TranscriptionTask,
  { tell, signal, watch }: TaskTools<TranscriptionEvent>,
  { recogniser, voice }: TranscribeParts,
): Promise<void> {
  refuseUnlessAble(asked, recogniser.facts);
  // English in English is what was said.
  const untranslated = asked.translate && !recogniser.facts.translates;
  const task = untranslated ? { ...asked, translate: false } : asked;
  const samples = await monoSound(decodedSound(recording, { signal }), { rate: soundRate, mostSeconds, signal });
  const seconds = samples.length / soundRate;
  tell({ type: 'start', seconds });
  const cutter = new ChunkCutter({
    longest: Math.floor(recogniser.longestSeconds * soundRate),
    widestPause: 2 * soundRate,
    margin: 0.4 * soundRate,
    quietest: (from, to) => quietestPlace(samples, from, to, soundRate / 50),
  });
  let language = task.language;

  async function hear(chunks: readonly Chunk[]): Promise<void> {
    for (const chunk of chunks) {
      signal.throwIfAborted();
      const piece = samples.slice(chunk.start, chunk.end);
      const patience = recogniser.patienceMs(piece.length / soundRate);
      const heard = await watch.aside(patience, () => recogniser.recognise(piece, task, signal));
      signal.throwIfAborted();
      language ??= heard.language;
      for (const segment of segmentsOf(heard, chunk, task)) tell({ type: 'segment', segment });
      tell({ type: 'progress', fraction: Math.min(1, chunk.end / samples.length) });
    }
  }

  for await (const span of voice.spans(samples, { signal, watch })) await hear(cutter.add(withinSound(span, samples)));
  await hear(cutter.end(samples.length));
  const notes = [...recogniser.notes(task), ...(untranslated ? [takenForEnglish(recogniser.facts)] : [])];
  tell({ type: 'finish', seconds, language: language ?? recogniser.facts.languages[0] ?? 'en', notes });
}

/** Said before anything is decoded: it does not depend on the recording. */
function refuseUnlessAble({ language, translate }: TranscriptionTask, facts: TranscriptionFacts): void {
  const instead = `${facts.name} ${facts.languages.join() === 'en' ? 'hears English only' : 'cannot do that'}; start the server with --whispermodel FILE and a model that can`;
  const hearsEnglish = facts.languages.join() === 'en';
  if (translate && !facts.translates && !hearsEnglish)
    throw new AppError('unsupported', { feature: 'Translation', instead });
  if (language === undefined || facts.languages.includes(language)) return;
  const details = { feature: `The language ${JSON.stringify(language)}`, instead, field: 'language' };
  throw new AppError('unsupported', details);
}

/** Speech in another language would come out as nonsense: whoever asked must know. */
function takenForEnglish({ name }: TranscriptionFacts): string {
  return `${name} hears English only: the recording was taken for English, and nothing was translated.`;
}

/** The last window may reach behind the end. */
function withinSound({ start, end }: Span, { length }: Float32Array): Span {
  return { start: Math.min(start, length), end: Math.min(end, length) };
}

function segmentsOf({ text, segments }: Heard, chunk: Chunk, { words }: TranscriptionTask): readonly Segment[] {
  const inSeconds = chunk.spans.map(({ start, end }) => ({ start: start / soundRate, end: end / soundRate }));
  const offset = chunk.start / soundRate;
  const timed = segments?.map((segment) => moved(segment, offset)) ?? timedSentences(text, inSeconds);
  return timed.map(({ words: said, ...segment }) => (words && said ? { ...segment, words: said } : segment));
}

function moved({ words, ...segment }: Segment, offset: number): Segment {
  const later = <Timed extends Span>(timed: Timed): Timed => ({
    ...timed,
    start: timed.start + offset,
    end: timed.end + offset,
  });
  return { ...later(segment), ...(words ? { words: words.map(later) } : {}) };
}
