import type { Pulse } from './stall.ts';

/** The pipes of a worker beside its standard streams and the channel for messages (3). */
export const descriptors = { pulse: 4, attachments: 5 };

/** Reads what a watchdog writes, in whatever pieces it comes. */
export function pulseReader(listener: (pulse: Pulse) => void): (text: string) => void {
  let open = '';
  return (text) => {
    const lines = (open + text).split('\n');
    open = lines.pop() ?? '';
    for (const line of lines) {
      listener(line === 'hung' ? { hung: true, patienceMs: 0 } : { hung: false, patienceMs: Number(line) });
    }
  };
}
