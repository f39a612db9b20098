import type { Standing } from '../core/request.ts';
import type { Asides } from './call.ts';
import { commentFrame } from './sse.ts';

/** So long a stream that waits keeps silent, and with it its status; and so long it keeps silent between two notices. */
export const noticeMs = 1000;

/** Tells a client that waits where it stands: at first, and then when its position has changed. */
export function standingNotices(
  standing: () => Standing | undefined,
  frame: (standing: Standing) => string = standingComment,
): Asides {
  let told = 0;
  return {
    milliseconds: noticeMs,
    next() {
      const present = standing();
      if (!present || present.position === told) return present && '';
      told = present.position;
      return frame(present);
    },
  };
}

/** Readers of server-sent events skip it; people see it. */
export function standingComment({ position, estimateSeconds }: Standing): string {
  return commentFrame(`queue position ${position}, about ${estimateSeconds} s`);
}
