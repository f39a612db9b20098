import type { GenerationEvent } from '../../core/events.ts';
import type { EarlyStop } from './decode.ts';

export interface EarlyStopParts {
  readonly stop: () => void;
  /** Milliseconds. */
  readonly now: () => number;
}

/**
 * Ends the text at a line that is indented too little, or after a whole line once the time is over. The generation is
 * stopped, and what it still says is passed over until its end, which then reads as a limit that was reached.
 */
export async function* stopEarly(
  events: AsyncIterable<GenerationEvent>,
  rule: EarlyStop,
  { stop, now }: EarlyStopParts,
): AsyncGenerator<GenerationEvent> {
  let text = '';
  let firstAt: number | undefined;
  let over = false;
  for await (const event of events) {
    if (event.type === 'finish' && over) {
      yield { ...event, reason: 'length', cause: 'limit' };
      continue;
    }
    if (event.type !== 'text-delta') {
      yield event;
      continue;
    }
    if (over) continue;
    firstAt ??= now();
    const shown = text.length;
    text += event.text;
    const end = lineTooShallow(text, rule.leastIndent);
    const late = rule.milliseconds > 0 && now() - firstAt > rule.milliseconds && text.includes('\n');
    yield end === undefined ? event : { ...event, text: text.slice(shown, end) };
    if (end === undefined && !late) continue;
    over = true;
    stop();
  }
}

/** Where the first line begins to have words before it is indented enough; the first line may be anyhow. */
export function lineTooShallow(text: string, leastIndent: number): number | undefined {
  if (leastIndent === 0) return undefined;
  for (let start = text.indexOf('\n') + 1; start > 0; start = text.indexOf('\n', start) + 1) {
    let end = start;
    while (text[end] === ' ' || text[end] === '\t') end += 1;
    if (end < text.length && end - start < leastIndent) return start;
  }
  return undefined;
}
