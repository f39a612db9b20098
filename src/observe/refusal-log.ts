import type { AppError, ErrorCode, Refused } from '../core/errors.ts';
import { clock, printable } from './printable.ts';
import type { Repeats } from './repeats.ts';

export interface RefusalLogOptions {
  readonly repeats: Repeats;
  /** Hides what people write. */
  readonly quiet: boolean;
  readonly now: () => Date;
  /** Whether its own request has told of this error already. */
  readonly isTold: (error: AppError) => boolean;
}

/** Which flag is concerned, where the sentence for the client does not say it. */
const hints: Partial<Record<ErrorCode, string>> = {
  busy: 'all places of --multiuser are taken',
  'rate-limited': '--ratelimit',
  unauthorized: 'the key is that of --password',
  'payload-too-large': '--maxrequestsize allows more',
};

/** One line for each request that was sent away, so that a person sees why an app does not work. */
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
    // The parser quotes what it could not read, which is what somebody wrote.
    if (this.options.quiet && error.code === 'invalid-json') return 'The request body is not valid JSON.';
    return printable(error.message);
  }
}
