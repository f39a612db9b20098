import type { Mark } from './sections.ts';
import type { StructuredText } from './text-lines.ts';

/** Of a part of the subtitles, which has its time as heading. */
const partSeconds = 60;
const time = /^\s*(?:(\d{1,4}):)?(\d{1,2}):(\d{2})[.,]\d{1,3}\s+-->/;

export const isSubtitles = (text: string): boolean =>
  /^WEBVTT(\s|$)/.test(text) || /^\s*\d+\n\s*\d{1,2}:\d{2}:\d{2}[.,]\d{1,3}\s+-->/.test(text.slice(0, 200));

/** The spoken text of SubRip or WebVTT, each cue with its time. */
export function subtitlesText(file: string): StructuredText {
  const lines: string[] = [];
  const marks: Mark[] = [];
  let length = 0;
  let part = -1;
  let cue: { readonly seconds: number; readonly lines: string[] } | undefined;
  const close = (): void => {
    const text = cue?.lines
      .join(' ')
      .replace(/<[^<>]{0,100}>|\{\\[^{}]{0,100}\}/g, '')
      .replace(/\s+/g, ' ')
      .trim();
    if (cue && text) {
      const stamp = clock(cue.seconds);
      if (Math.floor(cue.seconds / partSeconds) !== part) {
        part = Math.floor(cue.seconds / partSeconds);
        marks.push({ type: 'heading', at: length, level: 1, title: stamp });
      }
      const line = `[${stamp}] ${text}`;
      lines.push(line);
      length += line.length + 1;
    }
    cue = undefined;
  };
  for (const line of file.split('\n')) {
    const begin = time.exec(line.slice(0, 60));
    if (begin) {
      close();
      const [, hours = '0', minutes, seconds] = begin;
      cue = { seconds: Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds), lines: [] };
    } else if (line.trim() === '') close();
    else cue?.lines.push(line);
  }
  close();
  return { text: lines.join('\n'), marks };
}

function clock(seconds: number): string {
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  return `${two(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}`;
}
