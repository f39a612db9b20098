/** Errors of requests, where the server gives no reason. */
export const texts = {
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
  unreachable: 'The server is not responding. Check that it is running.',
} as const;
