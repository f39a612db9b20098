import type { Segment, TimedWord } from '../../../../core/transcription.ts';
import type { WhisperResult } from './addon.ts';

/** Segments as they come. */
export function wholeSegments({ segments }: WhisperResult): readonly Segment[] {
  return segments
    .filter(({ text }) => text.trim() !== '')
    .map(({ text, t0, t1 }) => ({ text, start: t0 / 1000, end: Math.max(t0, t1) / 1000 }));
}

/** Sentences of words, from a segment for each token: a token that begins with a space begins a word. */
export function spokenWords({ segments }: WhisperResult): readonly Segment[] {
  const words: TimedWord[] = [];
  for (const { text, t0, t1 } of segments) {
    if (text === '') continue;
    const last = words.at(-1);
    const end = Math.max(t0, t1) / 1000;
    if (!last || text.startsWith(' ')) words.push({ word: text, start: t0 / 1000, end });
    else words[words.length - 1] = { word: last.word + text, start: last.start, end: Math.max(last.end, end) };
  }
  return sentences(words.filter(({ word }) => word.trim() !== ''));
}

function sentences(words: readonly TimedWord[]): readonly Segment[] {
  const found: TimedWord[][] = [];
  let open = false;
  for (const word of words) {
    if (!open) found.push([]);
    found.at(-1)?.push(word);
    open = !/[.!?。！？]["'”’)]*$/.test(word.word);
  }
  return found.map((sentence) => ({
    start: sentence[0]?.start ?? 0,
    end: sentence.at(-1)?.end ?? 0,
    text: sentence.map(({ word }) => word).join(''),
    words: sentence.map(({ word, ...times }) => ({ word: word.trim(), ...times })),
  }));
}
