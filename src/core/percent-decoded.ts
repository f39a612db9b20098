import { attempt } from './attempt.ts';

/** The text as it is where it is not valid percent-encoding: some clients and people do not encode. */
export function percentDecoded(text: string): string {
  return attempt(() => decodeURIComponent(text), text);
}
