import type { IncomingMessage } from 'node:http';
import type { StartTimer } from './timers.ts';

export type ReadBody =
  | { readonly type: 'whole'; readonly body: Buffer }
  | { readonly type: 'too-large' }
  | { readonly type: 'stalled' }
  | { readonly type: 'gone' };

export interface BodyLimits {
  readonly bytes: number;
  /** How long to wait for the next byte. */
  readonly stallMilliseconds: number;
  readonly startTimer: StartTimer;
  /** Called before the first byte is awaited; not at all when the declared length is too much already. */
  readonly begin?: () => void;
}

/**
 * Reads a body whole, up to the cap. A declared length past the cap is not read at all, and a chunked body no further
 * than to it. The request is left flowing or paused as it is: whoever answers decides what becomes of the rest.
 */
export function readBody(request: IncomingMessage, limits: BodyLimits): Promise<ReadBody> {
  const { bytes, stallMilliseconds, startTimer } = limits;
  if (declaredLength(request) > bytes) return Promise.resolve({ type: 'too-large' });
  if (request.destroyed) return Promise.resolve({ type: 'gone' });
  limits.begin?.();
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;

    const settle = (result: ReadBody): void => {
      stall.cancel();
      request.off('data', take).off('end', whole).off('close', gone);
      resolve(result);
    };
    const take = (chunk: Buffer): void => {
      length += chunk.length;
      stall.restart();
      if (length > bytes) settle({ type: 'too-large' });
      else chunks.push(chunk);
    };
    const whole = (): void =>
      settle({ type: 'whole', body: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks) });
    const gone = (): void => settle({ type: 'gone' });

    const stall = startTimer(stallMilliseconds, () => settle({ type: 'stalled' }));
    request.on('data', take).on('end', whole).on('close', gone);
  });
}

/** Whether a body is announced whose end has not come yet. */
export function bodyPending(request: IncomingMessage): boolean {
  return !request.complete && (declaredLength(request) > 0 || request.headers['transfer-encoding'] !== undefined);
}

function declaredLength(request: IncomingMessage): number {
  return Number(request.headers['content-length'] ?? 0);
}
