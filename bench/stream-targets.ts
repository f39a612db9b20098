import { occurrences } from './http-client.ts';

/** A way of streaming text, and how its events are told apart. */
export interface StreamTarget {
  readonly name: string;
  readonly path: string;
  body(tokens: number): unknown;
  countEvents(text: string): number;
}

const frames = (text: string): number => occurrences(text, '\n\n');

export const nativeStream: StreamTarget = {
  name: 'native stream',
  path: '/api/extra/generate/stream',
  body: (tokens) => ({ prompt: 'Once', max_length: tokens }),
  countEvents: frames,
};

/** Every dialect that streams has its line here. */
export const streamTargets: readonly StreamTarget[] = [nativeStream];
