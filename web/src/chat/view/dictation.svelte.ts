import { texts } from '../../composer/texts.ts';
import { openMicrophone } from '../../sound/microphone.ts';
import { notify, notifyFailure } from '../../ui/notices.svelte.ts';
import { transcriptOf } from '../attachments/transcript.ts';

/** Dictation: records, then transcribes. */
export const dictation = $state<{ state: 'off' | 'recording' | 'transcribing'; seconds: number }>({
  state: 'off',
  seconds: 0,
});
let finish: (() => void) | undefined;
/** Shorter recordings contain no words. */
const shortest = 300;

export async function dictate(onText: (text: string) => void): Promise<void> {
  if (dictation.state !== 'off') {
    finish?.();
    return;
  }
  try {
    const { whole, stop } = await openMicrophone();
    finish = stop;
    Object.assign(dictation, { state: 'recording', seconds: 0 });
    const since = Date.now();
    const clock = setInterval(() => {
      dictation.seconds = Math.floor((Date.now() - since) / 1000);
    }, 200);
    const recording = await whole.finally(() => clearInterval(clock));
    dictation.state = 'transcribing';
    const text = Date.now() - since < shortest ? '' : await transcriptOf(recording);
    if (text === '') notify(texts.chat.noSpeech);
    else onText(text);
  } catch (thrown) {
    notifyFailure(thrown);
  } finally {
    dictation.state = 'off';
    finish = undefined;
  }
}
