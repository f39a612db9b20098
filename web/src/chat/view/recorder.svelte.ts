import { tell, tellFailure } from '../../app/notices.svelte.ts';
import { openMicrophone } from '../../sound/microphone.ts';
import { transcriptOf } from '../attaching/read-file.ts';

/** The microphone: on, then what was said as text. */
export const recorder = $state<{ state: 'off' | 'recording' | 'transcribing'; seconds: number }>({
  state: 'off',
  seconds: 0,
});
let finish: (() => void) | undefined;
/** In less than that nobody says a word. */
const shortest = 300;

export async function listen(onText: (text: string) => void): Promise<void> {
  if (recorder.state !== 'off') {
    finish?.();
    return;
  }
  try {
    const { whole, stop } = await openMicrophone();
    finish = stop;
    Object.assign(recorder, { state: 'recording', seconds: 0 });
    const since = Date.now();
    const clock = setInterval(() => {
      recorder.seconds = Math.floor((Date.now() - since) / 1000);
    }, 200);
    const recording = await whole.finally(() => clearInterval(clock));
    recorder.state = 'transcribing';
    const text = Date.now() - since < shortest ? '' : await transcriptOf(recording);
    if (text === '') tell('No speech found.');
    else onText(text);
  } catch (thrown) {
    tellFailure(thrown);
  } finally {
    recorder.state = 'off';
    finish = undefined;
  }
}
