import type { Statistics } from '../model/conversation.ts';

/** Statistics of a reply in one line. */
export function statisticsLine({ tokens, perSecond, firstTokenMs }: Statistics): string {
  const speed = perSecond >= 10 ? perSecond.toFixed(0) : perSecond.toFixed(1);
  return `${tokens} ${tokens === 1 ? 'token' : 'tokens'} · ${speed} tokens/s · first token after ${(firstTokenMs / 1000).toFixed(1)} s`;
}

/** Why a reply ended, if it is worth showing. */
export function finishText(finish: string | undefined): string {
  if (finish === 'length') return 'Reply length limit reached. Press Continue for more.';
  return finish === 'stopped' || finish === 'abort' ? 'Stopped.' : '';
}
