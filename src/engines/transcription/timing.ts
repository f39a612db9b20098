import type { Segment, TimedWord } from '../../core/transcription.ts';
import type { Span } from './cut.ts';

/** How far the end of a sentence may be moved to meet a pause. */
const reachSeconds = 1.5;

interface Sentence {
  readonly words: readonly string[];
  readonly weight: number;
}

/**
 * When the sentences and words of a text were said, where a recogniser tells nothing of that: spread over the speech by their
 * length, and ends of sentences moved to a pause that is near. `spans` is where there is speech, in seconds.
 */
export function timedSentences(text: string, spans: readonly Span[]): readonly Segment[] {
  const sentences = sentencesOf(text);
  const clock = new SpeechClock(spans);
  const whole = sentences.reduce((sum, { weight }) => sum + weight, 0);
  let [spoken, begun] = [0, 0];
  return sentences.map(({ words, weight }, index) => {
    spoken += weight;
    const guess = (clock.length * spoken) / whole;
    const end = index === sentences.length - 1 ? clock.length : clock.nearestPause(guess, begun);
    const said = spreadWords(words, weight, begun, end - begun, clock);
    begun = end;
    const [first] = said;
    const last = said.at(-1);
    return { start: first?.start ?? 0, end: last?.end ?? 0, text: ` ${words.join(' ')}`, words: said };
  });
}

function spreadWords(
  words: readonly string[],
  weight: number,
  begin: number,
  length: number,
  clock: SpeechClock,
): readonly TimedWord[] {
  let place = begin;
  return words.map((word) => {
    const start = place;
    place += (length * weightOf(word)) / weight;
    const timed = { word, start: clock.startAt(start), end: clock.endAt(Math.min(place, begin + length)) };
    return { ...timed, end: Math.max(timed.start, timed.end) };
  });
}

/** A title or a letter with a full stop does not end a sentence. */
const abbreviation = /^(?:mr|mrs|ms|dr|st|prof|vs|etc|[a-z])\.$/i;

function sentencesOf(text: string): readonly Sentence[] {
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

/** A short word takes more time than its letters. */
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

  /** A pause near this place and behind the other one; the place itself where there is none. */
  nearestPause(place: number, behind: number): number {
    const distance = (pause: number) => Math.abs(pause - place);
    const near = this.#spans
      .map(({ at }) => at)
      .filter((at) => at > behind && distance(at) <= reachSeconds)
      .sort((a, b) => distance(a) - distance(b));
    return near[0] ?? Math.max(place, behind);
  }

  /** What begins in a pause begins behind it. */
  startAt(place: number): number {
    const span = this.#spans.findLast(({ at }) => at <= place + tiny) ?? this.#spans[0];
    return span ? Math.min(span.start + Math.max(0, place - span.at), span.end) : 0;
  }

  /** What ends in a pause ends before it. */
  endAt(place: number): number {
    const span = this.#spans.findLast(({ at }) => at < place - tiny) ?? this.#spans[0];
    return span ? Math.min(span.start + Math.max(0, place - span.at), span.end) : 0;
  }
}

/** What rounding may do to a sum of times. */
const tiny = 1e-6;
