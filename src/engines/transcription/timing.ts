import type { Segment, TimedWord } from '../../core/transcription.ts';
import type { Span } from './cut.ts';

/** How far the end of a sentence may be moved to meet a pause. */
const reachSeconds = 1.5;

/** Estimates times for recognisers without timestamps: by length over the spans of speech; ends are moved to pauses. */
export function timedSentences(text: string, spans: readonly Span[]): readonly Segment[] {
  const sentences = sentencesOf(text);
  const clock = new SpeechClock(spans);
  const whole = sentences.reduce((sum, { weight }) => sum + weight, 0);
  let [spoken, begun] = [0, 0];
  return sentences.map(({ words, weight }, index) => {
    spoken += weight;
    const guess = (clock.length * spoken) / whole;
    const end = index === sentences.length - 1 ? clock.length : clock.nearestPause(guess, begun);
    const perWeight = (end - begun) / weight;
    const timedWords = words.map((word): TimedWord => {
      const start = clock.timeAt(begun);
      begun += perWeight * weightOf(word);
      return { word, start, end: Math.max(start, clock.timeAt(Math.min(begun, end), true)) };
    });
    begun = end;
    return {
      start: timedWords[0]?.start ?? 0,
      end: timedWords.at(-1)?.end ?? 0,
      text: ` ${words.join(' ')}`,
      words: timedWords,
    };
  });
}

/** Titles and initials do not end a sentence. */
const abbreviation = /^(?:mr|mrs|ms|dr|st|prof|vs|etc|[a-z])\.$/i;

function sentencesOf(text: string) {
  const sentences: string[][] = [];
  let open: string[] = [];
  for (const word of text.split(/\s+/).filter((each) => each !== '')) {
    open.push(word);
    if (!/[.!?…]["'”’)]*$/.test(word) || abbreviation.test(word)) continue;
    sentences.push(open);
    open = [];
  }
  if (open.length > 0) sentences.push(open);
  return sentences.map((words) => ({ words, weight: words.reduce((sum, word) => sum + weightOf(word), 0) }));
}

/** Relative duration; short words take more time than their letters. */
function weightOf(word: string): number {
  return word.length + 1.5;
}

/** A clock that runs only during speech. */
class SpeechClock {
  readonly length: number;
  readonly #spans: readonly (Span & { readonly at: number })[];

  constructor(spans: readonly Span[]) {
    let at = 0;
    this.#spans = spans.map((span) => {
      const placed = { ...span, at };
      at += span.end - span.start;
      return placed;
    });
    this.length = at;
  }

  /** The pause closest to this position and after `behind`; the position itself if there is none. */
  nearestPause(position: number, behind: number): number {
    const distance = (pause: number) => Math.abs(pause - position);
    const near = this.#spans
      .map(({ at }) => at)
      .filter((at) => at > behind && distance(at) <= reachSeconds)
      .sort((a, b) => distance(a) - distance(b));
    return near[0] ?? Math.max(position, behind);
  }

  /** Recording time of a position. A position at a pause is the start of the next span, or the end of the one before. */
  timeAt(position: number, isEnd = false): number {
    const isBefore = ({ at }: { readonly at: number }) => (isEnd ? at < position - tiny : at <= position + tiny);
    const span = this.#spans.findLast(isBefore) ?? this.#spans[0];
    return span ? Math.min(span.start + Math.max(0, position - span.at), span.end) : 0;
  }
}

/** Tolerance for rounding. */
const tiny = 1e-6;
