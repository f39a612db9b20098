import type { TextService } from '../core/text-service.ts';
import { plainRequest } from './request.ts';

/** Where the reply goes. */
export interface ReplyOutput {
  /** Aborts when nobody reads any more. */
  readonly lost: AbortSignal;
  write(text: string): void;
}

/** `--prompt`: one reply on standard output and nothing else, for scripts. A reader that had enough stops it. */
export async function oneShot(
  text: TextService,
  prompt: string,
  maxTokens: number,
  output: ReplyOutput,
): Promise<void> {
  const ticket = { genkey: '', client: 'terminal', signal: output.lost };
  for await (const event of text.generate(plainRequest(prompt, maxTokens), ticket)) {
    if (event.type === 'text-delta') output.write(event.text);
    if (event.type === 'error') throw event.error;
  }
  output.write('\n');
}
