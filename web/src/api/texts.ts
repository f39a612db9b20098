import { number, translatable } from '../languages/index.ts';

/** Errors of requests, where the server gives no reason, and what a request waits for. */
export const texts = translatable('api', {
  status: {
    401: 'The server needs a password. Enter the one of --password.',
    403: 'The server does not allow this request.',
    404: 'The server does not support this request. It may be an older version.',
    413: 'The request is too large for this server. Send smaller files, or start it with a larger --maxrequestsize.',
    429: 'Too many requests. Wait a moment and try again.',
    502: 'The proxy cannot reach the server. Check that it is running.',
    503: 'The server is busy. Try again in a moment.',
    504: 'The server took too long to answer. Try again.',
  } as Readonly<Record<number, string>>,
  otherStatus: (status: number) => `The server returned status ${status}.`,
  reply: {
    unfinished: 'The server could not finish the reply.',
    gone: 'The server no longer has this reply. Press Try again for a new one.',
    goneInStory: 'The server no longer has this reply. Press Retry for a new one.',
    empty: 'The model returned an empty reply.',
  },
  unreachable: 'The server is not responding. Check that it is running.',
  /** What a request waits for, beside the dots of a reply that has not begun. */
  waiting: {
    next: 'Next in the queue',
    queued: (position: number) => `Number ${number(position)} in the queue`,
    seconds: (state: string, seconds: number) => `${state}, about ${number(seconds)} s`,
    reading: (done: number, total: number) => `Reading ${number(done)} of ${number(total)} tokens`,
    loading: (model: string, percent: number) => `Loading ${model} … ${percent} %`,
  },
});
