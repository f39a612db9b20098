/** A transcribed segment of a recording; times in seconds. */
export interface Segment {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Formats seconds as `0:07` or `1:02:03`. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (value: number): string => String(value).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

export function subtitles(segments: readonly Segment[]): string {
  return segments
    .map(({ start, end, text }, index) => `${index + 1}\n${stamp(start)} --> ${stamp(end)}\n${text.trim()}\n`)
    .join('\n');
}

function stamp(seconds: number): string {
  const thousandths = Math.max(0, Math.round(seconds * 1000));
  const part = (size: number, within: number, digits = 2): string =>
    String(Math.floor(thousandths / size) % within).padStart(digits, '0');
  return `${part(3_600_000, 100)}:${part(60_000, 60)}:${part(1000, 60)},${part(1, 1000, 3)}`;
}
