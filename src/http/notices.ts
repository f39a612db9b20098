import type { Standing } from '../core/request.ts';
import type { Asides } from './call.ts';
import { commentFrame } from './sse.ts';

/** So long a stream that waits keeps silent, and with it its status; and so long it keeps silent between two notices. */
export const noticeMs = 1000;

/** Tells a client that waits where it stands: at first, and then when its position or the model's progress has changed. */
export function standingNotices(
  standing: () => Standing | undefined,
  frame: (standing: Standing) => string = standingComment,
): Asides {
  let told = '';
  return {
    milliseconds: noticeMs,
    next() {
      const present = standing();
      const figure = present && figureOf(present);
      if (!present || figure === undefined || figure === told) return present && '';
      told = figure;
      return frame(present);
    },
  };
}

/** Readers of server-sent events skip it; people see it. */
export function standingComment(standing: Standing): string {
  if (standing.type === 'loading') {
    return commentFrame(`loading ${inOneLine(standing.model)}, ${percentOf(standing.progress)} %`);
  }
  return commentFrame(`queue position ${standing.position}, about ${standing.estimateSeconds} s`);
}

/** What is worth a new notice: an estimate that moves by a second is not. */
function figureOf(standing: Standing): string {
  return standing.type === 'loading'
    ? `${percentOf(standing.progress)} % of ${standing.model}`
    : `place ${standing.position}`;
}

function percentOf(progress: number): number {
  return Math.floor(Math.min(1, Math.max(0, progress)) * 100);
}

/** The name of a file may hold anything: a line of its own would be read as a frame. */
function inOneLine(name: string): string {
  return name.replace(/[\r\n]+/g, ' ');
}
