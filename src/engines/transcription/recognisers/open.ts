import type { RecogniserOptions } from '../messages.ts';
import { openMoonshine } from './moonshine.ts';
import type { Recogniser } from './recogniser.ts';

/** Rejects with one sentence where it cannot be had. */
export async function openRecogniser(options: RecogniserOptions): Promise<Recogniser> {
  switch (options.type) {
    case 'moonshine':
      return openMoonshine(options);
    case 'whisper':
      throw new Error(
        '--whispermodel needs `parley pack add whisper` once; without the flag moonshine-tiny hears English',
      );
  }
}
