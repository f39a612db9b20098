import type { Statistics } from '../../conversations/conversation.ts';
import { texts } from './texts.ts';

const { figures } = texts;

/** Statistics of a reply in one line. A reply that arrived at once has no time of its first token. */
export function statisticsLine({ tokens, perSecond, firstTokenMs }: Statistics): string {
  const speed = perSecond >= 10 ? perSecond.toFixed(0) : perSecond.toFixed(1);
  const latency = firstTokenMs > 0 ? [figures.firstToken((firstTokenMs / 1000).toFixed(1))] : [];
  return [figures.tokens(tokens), figures.speed(speed), ...latency].join(' · ');
}

/** Why a reply ended, if it is worth showing. In the middle of a chat it is mostly known. */
export function finishText(finish: string | undefined, last: boolean): string {
  if (finish === 'interrupted') return figures.interrupted;
  if (!last) return '';
  if (finish === 'length') return figures.lengthReached;
  return finish === 'stopped' || finish === 'abort' ? figures.stopped : '';
}
