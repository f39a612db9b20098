import type { AppError, ErrorCode, Refused } from '../core/errors.ts';
import { clock, printable } from './printable.ts';
import type { Repeats } from './repeats.ts';

export interface RefusalLogOptions {
  readonly repeats: Repeats;
  /** Hides content of requests. */
  readonly quiet: boolean;
  readonly now: () => Date;
  /** Whether the request log has this error. */
  readonly isTold: (error: AppError) => boolean;
}

/** The flag that is concerned, if the message does not name it. */
const hints: Partial<Record<ErrorCode, string>> = {
  busy: 'all places of --multiuser are taken',
  'rate-limited': '--ratelimit',
  unauthorized: 'the key is that of --password',
  'payload-too-large': '--maxrequestsize allows more',
};

/** A line per rejected request. */
export class RefusalLog {
  constructor(private readonly options: RefusalLogOptions) {}

  refused(refused: Refused): void {
    const { repeats, now, isTold } = this.options;
    if (isTold(refused.error)) return;
    const { error, status, method, path, remoteAddress } = refused;
    const what = method === '' ? 'a connection' : `${method} ${printable(path)}`;
    const hint = hints[error.code];
    const line = `Refused ${what} from ${remoteAddress || 'nowhere'}: ${status} ${this.#sentence(error)}`;
    repeats.tell(error.code, `[${clock(now())}] ${line}${hint ? ` (${hint})` : ''}`);
  }

  #sentence(error: AppError): string {
    // The message of the parser quotes the request.
    if (this.options.quiet && error.code === 'invalid-json') return 'The request body is not valid JSON.';
    return printable(error.message);
  }
}
