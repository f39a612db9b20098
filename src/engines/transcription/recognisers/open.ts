import type { RecogniserOptions } from '../messages.ts';
import { openMoonshine } from './moonshine.ts';
import type { Recogniser } from './recogniser.ts';
import { openWhisper } from './whisper/whisper.ts';

/** Rejects with one sentence where it cannot be had. */
export async function openRecogniser(
  options: RecogniserOptions,
  note: (text: string) => void = () => {},
): Promise<Recogniser> {
  switch (options.type) {
    case 'moonshine':
      return openMoonshine(options);
    case 'whisper':
      return openWhisper(options, note);
  }
}
