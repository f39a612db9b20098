import type { Segment } from '../../../core/transcription.ts';

/** SubRip: numbered from 1, with a comma before the thousandths. */
export function srtText(segments: readonly Segment[]): string {
  return segments.map((segment, index) => `${index + 1}\n${cue(segment, ',')}`).join('');
}

export function vttText(segments: readonly Segment[]): string {
  return `WEBVTT\n\n${segments.map((segment) => cue(segment, '.')).join('')}`;
}

function cue({ start, end, text }: Segment, point: ',' | '.'): string {
  return `${clock(start, point)} --> ${clock(Math.max(start, end), point)}\n${cueText(text)}\n\n`;
}

/** A blank line would end the cue, and an arrow would begin another. */
function cueText(text: string): string {
  return text
    .trim()
    .replace(/\n\s*\n/g, '\n')
    .replaceAll('-->', '->');
}

function clock(seconds: number, point: string): string {
  const thousandths = Math.max(0, Math.round(seconds * 1000));
  const part = (unit: number, size: number, digits: number): string =>
    String(Math.floor(thousandths / unit) % size).padStart(digits, '0');
  const hours = String(Math.floor(thousandths / 3_600_000)).padStart(2, '0');
  return `${hours}:${part(60_000, 60, 2)}:${part(1000, 60, 2)}${point}${part(1, 1000, 3)}`;
}
